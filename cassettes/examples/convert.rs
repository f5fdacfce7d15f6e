//! Converts recordings: each `.har` to a cassette, each cassette to a `.har`.
//!
//! `convert OUT_DIR [--profile P] [--upstream-version V] FILE...`

use std::path::PathBuf;
use stuntdouble_cassettes::Cassette;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("usage: convert OUT_DIR FILE...")?);
    let (mut profile, mut version) = (None, None);
    while let Some(argument) = arguments.next() {
        let path = PathBuf::from(&argument);
        let name = PathBuf::from(path.file_stem().ok_or("no file name")?);
        match argument.as_str() {
            "--profile" => profile = arguments.next(),
            "--upstream-version" => version = arguments.next(),
            _ if argument.ends_with(".har") => {
                let mut cassette = Cassette::from_har(&std::fs::read_to_string(&path)?)?;
                cassette.header.profile = profile.clone().or(cassette.header.profile);
                cassette.header.upstream_version = version.clone().or(cassette.header.upstream_version);
                cassette.save(&directory.join(name.with_extension("yaml")))?;
            }
            _ => std::fs::write(
                directory.join(name.with_extension("har")),
                Cassette::open(&path)?.to_har(),
            )?,
        }
    }
    Ok(())
}
