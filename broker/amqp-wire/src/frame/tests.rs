use super::*;

fn split_all(mut input: BytesMut, max: usize) -> Result<Vec<Frame>, Invalid> {
    let mut frames = Vec::new();
    while let Some(frame) = split(&mut input, max)? {
        frames.push(frame);
    }
    Ok(frames)
}

#[test]
fn frames_come_out_whatever_the_cuts_of_the_stream() {
    let mut stream = BytesMut::new();
    write(&mut stream, Kind::Method, 1, |out| out.put_slice(b"abc"));
    write(&mut stream, Kind::Body, 700, |_| {});
    write_heartbeat(&mut stream);
    let expected = split_all(stream.clone(), 100).unwrap();
    assert_eq!(expected.len(), 3);

    let mut input = BytesMut::new();
    let mut frames = Vec::new();
    for byte in stream {
        input.put_u8(byte);
        frames.extend(split(&mut input, 100).unwrap());
    }
    assert_eq!(frames, expected);
    assert!(input.is_empty());
}

#[test]
fn a_wrong_end_byte_is_refused() {
    let mut input = BytesMut::from(&b"\x08\x00\x00\x00\x00\x00\x00\xcd"[..]);
    assert_eq!(split(&mut input, 100), Err(Invalid::End { byte: 0xcd }));
}

#[test]
fn an_impossible_size_is_refused_before_its_bytes_come() {
    let mut input = BytesMut::from(&b"\x01\x00\x01\xff\xff\xff\xff"[..]);
    let expected = Invalid::TooLarge {
        size: 0xffff_ffff,
        max: 4096,
    };
    assert_eq!(split(&mut input, 4096), Err(expected));
}

#[test]
fn an_unknown_type_is_refused_at_its_first_byte() {
    let mut input = BytesMut::from(&b"G"[..]);
    assert_eq!(split(&mut input, 4096), Err(Invalid::Type { kind: b'G' }));
    let mut zeroes = BytesMut::from(&[0u8; 8][..]);
    assert_eq!(split(&mut zeroes, 4096), Err(Invalid::Type { kind: 0 }));
}
