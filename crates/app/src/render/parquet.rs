//! Tables for engines that read Parquet: `DuckDB`, Spark, `ClickHouse`.

use hugewise_evidence::diagnose::Interval;
use hugewise_evidence::fleet::{Fleet, Row};
use hugewise_evidence::recording::Stamp;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A column.
struct Column {
    name: &'static str,
    values: Values,
}

/// Its values; `None` is unknown.
enum Values {
    Text(Vec<Option<String>>),
    /// Milliseconds since 1970-01-01 on the host's own clock.
    Time(Vec<Option<i64>>),
    Count(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
}

impl Column {
    /// The column in the language of Parquet's schemas.
    fn schema(&self) -> String {
        let name = self.name;
        match self.values {
            Values::Text(_) => format!("optional binary {name} (STRING);"),
            Values::Time(_) => format!("optional int64 {name} (TIMESTAMP(MILLIS,false));"),
            Values::Count(_) => format!("optional int64 {name};"),
            Values::Number(_) => format!("optional double {name};"),
        }
    }

    fn put(self, to: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match self.values {
            Values::Text(all) => {
                let bytes = all.into_iter().map(|text| Some(ByteArray::from(text?.into_bytes())));
                put::<ByteArrayType>(to, bytes.collect())
            }
            Values::Time(all) | Values::Count(all) => put::<Int64Type>(to, all),
            Values::Number(all) => put::<DoubleType>(to, all),
        }
    }
}

fn put<T: DataType>(to: &mut SerializedColumnWriter<'_>, all: Vec<Option<T::T>>) -> Result<()> {
    let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let known: Vec<T::T> = all.into_iter().flatten().collect();
    to.typed::<T>().write_batch(&known, Some(&levels), None).map(|_| ())
}

/// The findings of many hosts, a row each.
pub(crate) fn findings(fleet: &Fleet) -> Result<Vec<u8>> {
    table("findings", columns(&fleet.findings))
}

fn table(name: &str, columns: Vec<Column>) -> Result<Vec<u8>> {
    let of: Vec<String> = columns.iter().map(Column::schema).collect();
    let schema = parse_message_type(&format!("message {name} {{ {} }}", of.join(" ")))?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        if let Some(mut to) = group.next_column()? {
            column.put(&mut to)?;
            to.close()?;
        }
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

/// The columns; `docs/how-to/fleet.md` says what they mean.
fn columns(rows: &[Row]) -> Vec<Column> {
    let text = |name, of: &dyn Fn(&Row) -> Option<String>| Column {
        name,
        values: Values::Text(rows.iter().map(of).collect()),
    };
    let time = |name, of: &dyn Fn(&Row) -> Option<Stamp>| Column {
        name,
        values: Values::Time(rows.iter().map(|row| millis(of(row)?)).collect()),
    };
    let stretches = rows.iter().map(|row| i64::try_from(row.stretches).ok());
    vec![
        text("host", &|row| Some(row.host.clone())),
        text("recording", &|row| Some(row.recording.clone())),
        time("began", &|row| row.from),
        time("ended", &|row| row.to),
        text("times", &|row| Some(Interval { from: row.from, to: row.to }.to_string())),
        Column { name: "stretches", values: Values::Count(stretches.collect()) },
        text("severity", &|row| Some(row.severity.label().to_owned())),
        text("cause", &|row| Some(row.cause.about().key.to_owned())),
        text("title", &|row| Some(row.title.to_owned())),
        text("evidence", &|row| row.evidence.clone()),
        text("confidence", &|row| Some(row.confidence.label().to_owned())),
        Column {
            name: "weight",
            values: Values::Number(rows.iter().map(|row| Some(row.weight)).collect()),
        },
        text("follows", &|row| Some(row.follows?.about().key.to_owned())),
    ]
}

/// A time whose date is known: of others a table knows nothing.
fn millis(stamp: Stamp) -> Option<i64> {
    stamp.has_date().then(|| stamp.0.checked_mul(1000)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_evidence::diagnose::{Cause, Level, Severity};
    use hugewise_evidence::fleet::{Found, Read};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn row(host: &str, from: Option<i64>) -> Row {
        Row {
            host: host.to_owned(),
            recording: "a,\"b\"\n\u{1b}[31m<i>".to_owned(),
            from: from.map(Stamp),
            to: from.map(Stamp),
            stretches: 2,
            severity: Severity::Warning,
            cause: Cause::ALL[0],
            title: "a cause",
            evidence: None,
            confidence: Level::Likely,
            weight: 0.25,
            follows: None,
        }
    }

    fn read(rows: Vec<Row>) -> Vec<String> {
        let found = Found { rows, ..Found::default() };
        let fleet = Fleet::of(vec![Read { recording: "r".into(), result: Ok(found) }]);
        let bytes = findings(&fleet).expect("written");
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a table");
        let rows = reader.get_row_iter(None).expect("rows");
        rows.map(|row| row.expect("a row").to_string()).collect()
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let rows =
            read(vec![row("h\u{202e}1", Some(1_795_305_600)), row("z", Some(7)), row("zz", None)]);
        assert_eq!(rows.len(), 3);
        assert!(rows[0].contains("h\u{202e}1") && rows[0].contains("<i>"), "{}", rows[0]);
        assert!(rows[0].contains("2026-11-22 00:00:00"), "{}", rows[0]);
        assert!(rows[1].contains("began: null") && rows[1].contains("00:00:07"), "{}", rows[1]);
        assert!(rows[2].contains("evidence: null") && rows[2].contains("weight: 0.25"));
    }

    #[test]
    fn no_finding_is_a_table_without_rows() {
        assert_eq!(read(Vec::new()), [""; 0]);
    }
}
