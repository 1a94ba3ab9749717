//! stub
/// stub
/// # Errors
/// never
pub fn parse(t: &str) -> Result<crate::units::Bytes, String> {
    t.parse().map(crate::units::Bytes).map_err(|_| "x".into())
}
