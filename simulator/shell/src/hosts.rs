//! The hosts file format: each line has an address and its names; `#` starts a comment.

/// Returns the lines of a hosts file that contain a name, each as its address and names.
pub fn hosts_with<'a>(hosts: &'a str, name: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let fields = |line: &'a str| -> Vec<&'a str> {
        let (fields, _) = line.split_once('#').unwrap_or((line, ""));
        fields.split_whitespace().collect()
    };
    hosts
        .lines()
        .map(fields)
        .filter(move |fields| fields.iter().skip(1).any(|field| *field == name))
}
