//! The notation of the tables in `schema/`, parsed.
//!
//! ```text
//! file    = head [ "listeners" name+ ] block+
//! head    = "api" key Name | "data" Name | "coordinator" module number Name
//! block   = side "valid" range [ "flexible" range ] [ "header" a "," b ] [ "unstable" "latest" ]
//!           then, one level (two spaces) in: field* struct*
//! struct  = "struct" Name range, then, one level in: field*
//! field   = name type range attr*, then, one level in: field*
//! attr    = "nullable" range | "tag" number range | "default" value | "key" | "ignorable"
//!         | "entity" word | "zerocopy" | "flexible" "none"
//! range   = "none" | N | N "-" M | N "+"
//! ```

#[derive(Debug)]
pub(crate) struct File {
    /// Name of the table without its ending.
    pub(crate) table: String,
    pub(crate) head: Head,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum Head {
    Api { key: i16, name: String },
    Data { name: String },
    Coordinator { number: i16, name: String },
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) side: Side,
    pub(crate) valid: Range,
    pub(crate) flexible: Range,
    /// Header version in versions that are not flexible, and in those that are.
    pub(crate) header: (i16, i16),
    /// The highest version is not stable yet.
    pub(crate) unstable: bool,
    pub(crate) fields: Vec<Field>,
    pub(crate) structs: Vec<Struct>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Request,
    Response,
    Key,
    Value,
    Body,
}

#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) versions: Range,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) array: bool,
    pub(crate) kind: Kind,
    pub(crate) versions: Range,
    pub(crate) nullable: Range,
    pub(crate) tag: Option<u32>,
    pub(crate) default: Default,
    pub(crate) ignorable: bool,
    /// Fields of a struct type that is used here only.
    pub(crate) fields: Vec<Self>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Default {
    /// Zero, false, empty.
    Unset,
    Null,
    Int(i64),
    True,
}

/// Inclusive; empty when `min > max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) min: i16,
    pub(crate) max: i16,
}

impl Range {
    pub(crate) const NONE: Self = Self { min: 1, max: 0 };

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            min: self.min.max(other.min),
            max: self.max.min(other.max),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.min > self.max
    }

    pub(crate) fn contains(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }
}

impl File {
    /// Name of the generated module.
    pub(crate) fn module(&self) -> String {
        match &self.head {
            Head::Api { name, .. } | Head::Data { name } => snake_case(name),
            Head::Coordinator { name, .. } => format!("{}_record", snake_case(name)),
        }
    }

    /// Name of the generated type of `block`.
    pub(crate) fn type_name(&self, block: &Block) -> String {
        match (block.side, &self.head) {
            (Side::Request, _) => "Request".to_owned(),
            (Side::Response, _) => "Response".to_owned(),
            (Side::Key, _) => "Key".to_owned(),
            (Side::Value, _) => "Value".to_owned(),
            (
                Side::Body,
                Head::Api { name, .. } | Head::Data { name } | Head::Coordinator { name, .. },
            ) => name.clone(),
        }
    }
}

impl Block {
    pub(crate) fn is_flexible(&self, version: i16) -> bool {
        self.flexible.contains(version)
    }

    /// Fields and versions of the struct type `name`, wherever in the block it is written down.
    pub(crate) fn find_struct(&self, name: &str) -> (&[Field], Range) {
        if let Some(found) = self.structs.iter().find(|s| s.name == name) {
            return (&found.fields, found.versions);
        }
        let inner = self.structs.iter().map(|s| s.fields.as_slice());
        let mut open = vec![self.fields.as_slice()];
        open.extend(inner);
        while let Some(fields) = open.pop() {
            for field in fields {
                if field.kind == Kind::Struct(name.to_owned()) && !field.fields.is_empty() {
                    return (&field.fields, field.versions);
                }
                open.push(&field.fields);
            }
        }
        panic!("struct {name} is used but not written down");
    }
}

pub(crate) fn parse(table: &str, text: &str) -> File {
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(Line::new)
        .peekable();
    let head = lines.next().expect("a table begins with its head");
    let head = match head.words.as_slice() {
        ["api", key, name] => Head::Api {
            key: key.parse().unwrap(),
            name: (*name).to_owned(),
        },
        ["data", name] => Head::Data {
            name: (*name).to_owned(),
        },
        ["coordinator", _, number, name] => Head::Coordinator {
            number: number.parse().unwrap(),
            name: (*name).to_owned(),
        },
        other => panic!("{table}: unknown head {other:?}"),
    };
    lines.next_if(|line| line.words[0] == "listeners");
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        blocks.push(parse_block(&line, &mut lines));
    }
    File {
        table: table.to_owned(),
        head,
        blocks,
    }
}

struct Line<'a> {
    depth: usize,
    words: Vec<&'a str>,
}

type Lines<'a, I> = std::iter::Peekable<I>;

impl<'a> Line<'a> {
    fn new(line: &'a str) -> Self {
        Self {
            depth: (line.len() - line.trim_start().len()) / 2,
            words: line.split_whitespace().collect(),
        }
    }
}

fn parse_block<'a>(
    line: &Line<'a>,
    lines: &mut Lines<'a, impl Iterator<Item = Line<'a>>>,
) -> Block {
    let mut words = line.words.iter().copied();
    let side = match words.next().unwrap() {
        "request" => Side::Request,
        "response" => Side::Response,
        "key" => Side::Key,
        "value" => Side::Value,
        "body" => Side::Body,
        other => panic!("unknown side {other}"),
    };
    let mut block = Block {
        side,
        valid: Range::NONE,
        flexible: Range::NONE,
        header: (0, 0),
        unstable: false,
        fields: Vec::new(),
        structs: Vec::new(),
    };
    while let Some(word) = words.next() {
        let value = words.next().unwrap();
        match word {
            "valid" => block.valid = parse_range(value),
            "flexible" => block.flexible = parse_range(value),
            "header" => {
                let (plain, flexible) = value.split_once(',').unwrap();
                block.header = (plain.parse().unwrap(), flexible.parse().unwrap());
            }
            "unstable" => block.unstable = true,
            other => panic!("unknown block attribute {other}"),
        }
    }
    block.fields = parse_fields(1, lines);
    while let Some(line) = lines.next_if(|line| line.depth == 1 && line.words[0] == "struct") {
        block.structs.push(Struct {
            name: line.words[1].to_owned(),
            versions: parse_range(line.words[2]),
            fields: parse_fields(2, lines),
        });
    }
    block
}

fn parse_fields<'a>(
    depth: usize,
    lines: &mut Lines<'a, impl Iterator<Item = Line<'a>>>,
) -> Vec<Field> {
    let mut fields = Vec::new();
    while let Some(line) = lines.next_if(|l| l.depth == depth && l.words[0] != "struct") {
        let mut field = parse_field(&line.words);
        field.fields = parse_fields(depth + 1, lines);
        fields.push(field);
    }
    fields
}

fn parse_field(words: &[&str]) -> Field {
    let [name, kind, versions, attributes @ ..] = words else {
        panic!("not a field: {words:?}");
    };
    let array = kind.starts_with("[]");
    let mut field = Field {
        name: (*name).to_owned(),
        array,
        kind: parse_kind(kind.trim_start_matches("[]")),
        versions: parse_range(versions),
        nullable: Range::NONE,
        tag: None,
        default: Default::Unset,
        ignorable: false,
        fields: Vec::new(),
    };
    let mut words = attributes.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "nullable" => field.nullable = parse_range(words.next().unwrap()),
            "tag" => {
                field.tag = Some(words.next().unwrap().parse().unwrap());
                let tagged = parse_range(words.next().unwrap());
                assert_eq!(
                    tagged, field.versions,
                    "{name} is tagged in some versions only"
                );
            }
            "default" => field.default = parse_default(words.next().unwrap()),
            "ignorable" => field.ignorable = true,
            "entity" => drop(words.next()),
            "key" | "zerocopy" => {}
            other => panic!("unknown attribute {other} of {name}"),
        }
    }
    field
}

fn parse_kind(word: &str) -> Kind {
    match word {
        "bool" => Kind::Bool,
        "int8" => Kind::Int8,
        "int16" => Kind::Int16,
        "uint16" => Kind::Uint16,
        "int32" => Kind::Int32,
        "uint32" => Kind::Uint32,
        "int64" => Kind::Int64,
        "float64" => Kind::Float64,
        "uuid" => Kind::Uuid,
        "string" => Kind::String,
        "bytes" => Kind::Bytes,
        "records" => Kind::Records,
        name => Kind::Struct(name.to_owned()),
    }
}

fn parse_default(word: &str) -> Default {
    match word {
        "null" => Default::Null,
        "true" => Default::True,
        number => Default::Int(number.parse().unwrap()),
    }
}

fn parse_range(word: &str) -> Range {
    if word == "none" {
        return Range::NONE;
    }
    if let Some(min) = word.strip_suffix('+') {
        return Range {
            min: min.parse().unwrap(),
            max: i16::MAX,
        };
    }
    let (min, max) = word.split_once('-').unwrap_or((word, word));
    Range {
        min: min.parse().unwrap(),
        max: max.parse().unwrap(),
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}
