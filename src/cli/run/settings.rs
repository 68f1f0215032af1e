//! Settings of Cranelift's on the command line.

/// The settings of Cranelift's that may differ without breaking what relies on the others.
const SETTINGS: [&str; 6] = [
    "opt_level",
    "regalloc_algorithm",
    "enable_alias_analysis",
    "enable_verifier",
    "log2_min_function_alignment",
    "preserve_frame_pointers",
];

pub(super) fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    if !SETTINGS.contains(&key) {
        return Err(format!(
            "`{key}` cannot be set; these can: {}",
            SETTINGS.join(", ")
        ));
    }
    Ok((key.to_string(), value.to_string()))
}
