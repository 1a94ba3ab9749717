use super::*;

#[test]
fn keys_are_unique_and_carry_their_unit() {
    let mut keys: Vec<&str> = Field::ALL.iter().map(|field| field.about().key).collect();
    keys.sort_unstable();
    let all = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), all);
    for field in Field::ALL {
        let about = field.about();
        let wanted = match about.unit {
            Unit::Percent => "_percent",
            Unit::PerSecond => "per_s",
            Unit::Bytes => "_bytes",
            Unit::BytesPerSecond => "_bytes_per_s",
            Unit::Milliseconds => "_ms",
            Unit::Count | Unit::Index => "",
        };
        assert!(about.key.ends_with(wanted) || about.key.ends_with(".bytes"), "{}", about.key);
    }
}
