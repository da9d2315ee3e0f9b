//! Bytes of any message, made from its table alone: a second, independent encoder that walks the
//! schema and invents values as it goes. It shares nothing with the code under test.

use crate::codegen::schema::{Block, Default, Field, Kind};

/// A small generator of numbers (xorshift64*), so that a failing seed fails again.
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }
}

/// One value of `block` at `version`.
pub(crate) fn encode(block: &Block, version: i16, seed: &mut Seed) -> Vec<u8> {
    let encoder = Encoder { block, version };
    let mut out = Vec::new();
    encoder.fields(&mut out, &block.fields, &mut Some(seed));
    out
}

struct Encoder<'a> {
    block: &'a Block,
    version: i16,
}

/// Where values come from; `None` writes defaults.
type Source<'s, 'r> = &'r mut Option<&'s mut Seed>;

impl Encoder<'_> {
    fn flexible(&self) -> bool {
        self.block.is_flexible(self.version)
    }

    fn fields(&self, out: &mut Vec<u8>, fields: &[Field], source: Source<'_, '_>) {
        let mut tagged = Vec::new();
        for field in fields.iter().filter(|f| f.versions.contains(self.version)) {
            match field.tag {
                None => self.field(out, field, source),
                Some(tag) => {
                    let (mut value, mut default) = (Vec::new(), Vec::new());
                    self.field(&mut value, field, source);
                    self.field(&mut default, field, &mut None);
                    if value != default {
                        tagged.push((tag, value));
                    }
                }
            }
        }
        if self.flexible() {
            tagged.sort();
            uvarint(out, tagged.len() as u64);
            for (tag, value) in tagged {
                uvarint(out, tag.into());
                uvarint(out, value.len() as u64);
                out.extend(value);
            }
        }
    }

    fn field(&self, out: &mut Vec<u8>, field: &Field, source: Source<'_, '_>) {
        let nullable = field.nullable.contains(self.version);
        let null = nullable
            && match source {
                Some(seed) => seed.below(4) == 0,
                None => field.default == Default::Null,
            };
        if field.array {
            let count = source.as_mut().map_or(0, |seed| seed.below(4));
            self.len(out, (!null).then_some(count));
            if !null {
                for _ in 0..count {
                    self.value(out, field, source);
                }
            }
        } else if null {
            match field.kind {
                Kind::Struct(_) => out.push(0xff),
                Kind::String if !self.flexible() => out.extend((-1_i16).to_be_bytes()),
                _ => self.len(out, None),
            }
        } else {
            if nullable && matches!(field.kind, Kind::Struct(_)) {
                out.push(1);
            }
            self.value(out, field, source);
        }
    }

    fn value(&self, out: &mut Vec<u8>, field: &Field, source: Source<'_, '_>) {
        if let Kind::Struct(name) = &field.kind {
            let (fields, _) = self.block.find_struct(name);
            return self.fields(out, fields, source);
        }
        let Some(seed) = source else {
            return self.default(out, field);
        };
        match field.kind {
            Kind::Bool => out.push((seed.next() & 1) as u8),
            Kind::Int8 => out.push(seed.next() as u8),
            Kind::Int16 | Kind::Uint16 => out.extend((seed.next() as u16).to_be_bytes()),
            Kind::Int32 | Kind::Uint32 => out.extend((seed.next() as u32).to_be_bytes()),
            Kind::Int64 => out.extend(seed.next().to_be_bytes()),
            Kind::Float64 => out.extend(f64::from(seed.next() as u32).to_be_bytes()),
            Kind::Uuid => out
                .extend(((u128::from(seed.next()) << 64) | u128::from(seed.next())).to_be_bytes()),
            Kind::String => {
                let text =
                    ["", "a", "topic-\u{e9}", "x".repeat(200).as_str()][seed.below(4)].to_owned();
                self.text(out, &text);
            }
            Kind::Bytes | Kind::Records => {
                let len = [0, 1, 70, 5_000][seed.below(4)];
                self.len(out, Some(len));
                out.extend(std::iter::repeat_with(|| seed.next() as u8).take(len));
            }
            Kind::Struct(_) => unreachable!(),
        }
    }

    fn default(&self, out: &mut Vec<u8>, field: &Field) {
        let int = match field.default {
            Default::Int(value) => value,
            Default::True => 1,
            Default::Unset | Default::Null => 0,
        };
        match field.kind {
            Kind::Bool | Kind::Int8 => out.push(int as u8),
            Kind::Int16 | Kind::Uint16 => out.extend((int as u16).to_be_bytes()),
            Kind::Int32 | Kind::Uint32 => out.extend((int as u32).to_be_bytes()),
            Kind::Int64 | Kind::Float64 => out.extend(int.to_be_bytes()),
            Kind::Uuid => out.extend([0; 16]),
            Kind::String => self.text(out, ""),
            Kind::Bytes | Kind::Records => self.len(out, Some(0)),
            Kind::Struct(_) => unreachable!(),
        }
    }

    fn text(&self, out: &mut Vec<u8>, text: &str) {
        if self.flexible() {
            uvarint(out, text.len() as u64 + 1);
        } else {
            out.extend((text.len() as i16).to_be_bytes());
        }
        out.extend(text.as_bytes());
    }

    fn len(&self, out: &mut Vec<u8>, len: Option<usize>) {
        if self.flexible() {
            uvarint(out, len.map_or(0, |len| len as u64 + 1));
        } else {
            out.extend(len.map_or(-1, |len| len as i32).to_be_bytes());
        }
    }
}

fn uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
