//! JSON of unknown size as a value of bounded size: a list of zeros is 16 times as large in memory
//! as it is as text.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Most values inside one value that is read whole, such as a sample: interrupts of 1,000 CPUs by
/// 1,000 vectors are a million.
pub(super) const VALUES_MAX: usize = 2_000_000;

/// Reads one value; an error when it has more than [`VALUES_MAX`] values inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded<'a>(pub(super) &'a Cell<usize>);

/// Reads a text that is one value.
///
/// # Errors
/// When it is no JSON, or too large.
pub(super) fn whole(text: &[u8]) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = Bounded(&Cell::new(0)).deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let values = self.0.get() + 1;
        if values > VALUES_MAX {
            return Err(D::Error::custom(format!("more than {VALUES_MAX} values in one sample")));
        }
        self.0.set(values);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = seq.next_element_seed(self)? {
            all.push(value);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            all.insert(key, map.next_value_seed(self)?);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_serde_json_reads() {
        let text = r#"{"a": [1, -2, 3.5, null, true, "x\u00e9"], "b": {"c": {}}, "d": 1e400}"#;
        let wanted: Result<Value, _> = serde_json::from_str(text);
        assert_eq!(whole(text.as_bytes()).ok(), wanted.ok());
        let text = r#"{"a": [1, -2, 3.5, null, true, "x\u00e9"], "b": {"c": {}}, "d": 1e40}"#;
        let wanted: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(whole(text.as_bytes()).expect("JSON"), wanted);
        assert!(whole(b"{} x").is_err());
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let many = format!("[{}0]", "0,".repeat(VALUES_MAX));
        let error = whole(many.as_bytes()).expect_err("too large").to_string();
        assert!(error.contains("more than 2000000 values"), "{error}");
        let deep = "[".repeat(1_000_000);
        let error = whole(deep.as_bytes()).expect_err("too deep").to_string();
        assert!(error.contains("recursion limit"), "{error}");
    }
}
