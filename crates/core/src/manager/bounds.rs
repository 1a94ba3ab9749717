//! Values of the configuration that types alone cannot bound.

use crate::base::units::Bytes;
use serde::Deserialize;

/// Accepts `4194304` as well as `"4 MiB"`.
pub(super) fn bytes_or_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Either::deserialize(from)? {
        Either::Number(bytes) => Ok(Bytes(bytes)),
        Either::Text(text) => crate::base::size::parse(&text)
            .map(|size| Bytes(size.bytes()))
            .map_err(serde::de::Error::custom),
    }
}

pub(super) fn check_range(key: &str, value: f64, low: f64, high: f64) -> Result<(), ConfigError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(ConfigError(format!("'{key}' is {value}, but must be between {low} and {high}")))
}

/// A value out of range, or a rule without a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);
