use bytes::Bytes;

use super::*;

fn header(key: ApiKey, version: i16) -> RequestHeader {
    RequestHeader {
        key,
        version,
        correlation_id: 7,
        client_id: Some(Str::from_static("me")),
    }
}

fn round_trip(header: &RequestHeader) -> (RequestHeader, Reader) {
    let mut w = Writer::new();
    header.encode(&mut w);
    RequestHeader::parse(w.finish_bytes().unwrap()).unwrap()
}

#[test]
fn plain_and_flexible_headers_are_read_back() {
    for header in [header(ApiKey::Produce, 8), header(ApiKey::Produce, 9)] {
        let (read, rest) = round_trip(&header);
        assert_eq!(read, header);
        assert_eq!(rest.remaining(), 0);
    }
}

#[test]
fn a_version_from_the_future_still_has_a_header() {
    let future = header(ApiKey::ApiVersions, 99);
    assert_eq!(round_trip(&future).0, future);
}

#[test]
fn an_unknown_key_is_named() {
    let frame = Bytes::from_static(&[0x7f, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(
        RequestHeader::parse(frame).unwrap_err(),
        HeaderError::UnknownKey(0x7f00)
    );
}

#[test]
fn api_versions_replies_keep_the_first_response_header() {
    assert_eq!(ApiKey::ApiVersions.response_header_version(4), 0);
    assert_eq!(ApiKey::ApiVersions.request_header_version(4), 2);
    assert_eq!(ApiKey::Metadata.response_header_version(9), 1);
    assert_eq!(ApiKey::Metadata.response_header_version(8), 0);
}
