//! Images as data: what their containers run, write and serve.
//!
//! - Built-in images are in `fixtures/images`. `serve --image` and [`Builder::image`](crate::Builder::image) add
//!   more, which take precedence.
//! - A container of an unknown image can run the shell's commands. Any other program is assumed to run until it is
//!   stopped.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::behaviour::Behaviour;
use crate::compat::yaml;

/// Data of an image.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ImageData {
    /// Name patterns, with `*` for any text. A name without a tag matches all tags.
    images: Vec<String>,
    /// Whether pulling it fails.
    #[serde(default)]
    pub(crate) absent: bool,
    /// Command of a container without `command`.
    #[serde(default)]
    pub(crate) entrypoint: Vec<String>,
    /// Arguments of a container without `command` and `args`.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// Whether it contains a shell and the shell's commands.
    #[serde(default = "yes")]
    pub(crate) shell: bool,
    /// Environment variables.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Working directory.
    #[serde(default)]
    pub(crate) directory: String,
    /// Files, by path.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Programs, by name or path.
    #[serde(default, deserialize_with = "shared_values")]
    pub(crate) programs: BTreeMap<String, Arc<ProgramData>>,
}

fn shared<'de, D: Deserializer<'de>, T: Deserialize<'de>>(data: D) -> Result<Arc<T>, D::Error> {
    T::deserialize(data).map(Arc::new)
}

fn shared_values<'de, D: Deserializer<'de>>(data: D) -> Result<BTreeMap<String, Arc<ProgramData>>, D::Error> {
    let programs = BTreeMap::<String, ProgramData>::deserialize(data)?;
    Ok(programs
        .into_iter()
        .map(|(name, data)| (name, Arc::new(data)))
        .collect())
}

fn yes() -> bool {
    true
}

/// What a program does: it runs a script, writes timed output, and serves HTTP until it ends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProgramData {
    /// Shell script, called with the program's arguments. The program ends with the script, unless it has `serves` or
    /// `exit`.
    #[serde(default)]
    pub(crate) script: Option<String>,
    /// Timed output.
    #[serde(default)]
    pub(crate) output: Vec<OutputData>,
    /// Time and code of its exit. Default: it ends with its script, or never if it has none.
    #[serde(default)]
    pub(crate) exit: Option<ExitData>,
    /// HTTP servers.
    #[serde(default)]
    pub(crate) serves: Vec<ServerData>,
}

/// A timed output of a program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OutputData {
    /// Seconds after the start.
    #[serde(default)]
    pub(crate) after: f64,
    /// Text to write; placeholders such as `{hostname}` are replaced.
    pub(crate) text: String,
    /// Whether it goes to standard error.
    #[serde(default)]
    pub(crate) stderr: bool,
}

/// The exit of a program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExitData {
    /// Seconds after the start.
    #[serde(default)]
    pub(crate) after: f64,
    /// Exit code.
    #[serde(default)]
    pub(crate) code: i32,
}

/// An HTTP server of a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServerData {
    /// Port.
    #[serde(default)]
    pub(crate) port: u16,
    /// Flag of the program that overrides the port, as in `--port=80` or `--port 80`.
    #[serde(default)]
    pub(crate) port_flag: Option<String>,
    /// Prefix of environment variables. Each variable `PREFIX` + number opens that port, and `{value}` is its value.
    #[serde(default)]
    pub(crate) port_environment: Option<String>,
    /// Whether each request is logged in nginx's format.
    #[serde(default)]
    pub(crate) access_log: bool,
    /// Responses; the first match is sent, or 404 if none matches.
    #[serde(deserialize_with = "shared")]
    pub(crate) routes: Arc<Vec<RouteData>>,
}

/// A response of a server.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RouteData {
    /// Method. Default: any.
    #[serde(default)]
    pub(crate) method: Option<String>,
    /// Path; a trailing `*` matches any path with that prefix.
    pub(crate) path: String,
    /// Start of its validity, in seconds after the program's start.
    #[serde(default)]
    pub(crate) from: f64,
    /// End of its validity, in seconds after the program's start.
    #[serde(default)]
    pub(crate) until: Option<f64>,
    /// Status code.
    #[serde(default = "ok")]
    pub(crate) status: u16,
    /// Media type.
    #[serde(default = "plain")]
    pub(crate) content_type: String,
    /// Body; placeholders such as `{path}` are replaced.
    #[serde(default)]
    pub(crate) body: String,
    /// Directory whose files are served instead of `body`.
    #[serde(default)]
    pub(crate) root: Option<String>,
    /// Script whose output is served instead of `body`.
    #[serde(default)]
    pub(crate) script: Option<String>,
}

fn ok() -> u16 {
    200
}

fn plain() -> String {
    "text/plain; charset=utf-8".to_owned()
}

/// The image of a container.
#[derive(Clone)]
pub(crate) struct Image {
    /// Data of the image; `None` if the image is unknown.
    pub(crate) data: Option<Arc<ImageData>>,
    /// Registered behaviour of the image.
    pub(crate) behaviour: Option<Arc<dyn Behaviour>>,
}

/// An error in the images of a file.
#[derive(Clone, Debug, thiserror::Error)]
#[error("invalid images in {file}: {reason}")]
pub struct ImageError {
    /// Name of the file.
    pub file: String,
    /// Reason.
    pub reason: String,
}

/// The known images.
#[derive(Clone, Default)]
pub(crate) struct Images {
    data: Vec<Arc<ImageData>>,
    behaviours: Vec<(String, Arc<dyn Behaviour>)>,
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.data.iter().flat_map(|data| &data.images);
        f.debug_set()
            .entries(self.behaviours.iter().map(|(name, _)| name).chain(names))
            .finish()
    }
}

impl Images {
    /// Returns the images of `fixtures/images`, which are parsed once per process.
    ///
    /// # Errors
    /// [`ImageError`] if a file is invalid.
    pub(crate) fn known() -> Result<Self, ImageError> {
        static KNOWN: LazyLock<Result<Vec<Arc<ImageData>>, ImageError>> = LazyLock::new(fixtures);
        Ok(Self {
            data: KNOWN.clone()?,
            behaviours: Vec::new(),
        })
    }

    /// Adds the images of a YAML file. They take precedence over those added before.
    pub(crate) fn add(&mut self, file: &str, text: &str) -> Result<(), ImageError> {
        self.data.splice(..0, read(file, text)?);
        Ok(())
    }

    /// Registers the behaviour of an image, which takes precedence over its data.
    pub(crate) fn register(&mut self, image: String, behaviour: Arc<dyn Behaviour>) {
        self.behaviours.insert(0, (image, behaviour));
    }

    /// Returns the image of this name.
    pub(crate) fn find(&self, name: &str) -> Image {
        let fits = |pattern: &String| fits(pattern, name);
        Image {
            data: self.data.iter().find(|data| data.images.iter().any(fits)).cloned(),
            behaviour: self
                .behaviours
                .iter()
                .find(|(pattern, _)| fits(pattern))
                .map(|(_, behaviour)| behaviour.clone()),
        }
    }
}

fn fixtures() -> Result<Vec<Arc<ImageData>>, ImageError> {
    let mut images = Vec::new();
    let files = stuntdouble_fixtures::IMAGES.files();
    for file in files.filter(|file| file.path().extension().is_some_and(|ending| ending == "yaml")) {
        let text = file.contents_utf8().unwrap_or_default();
        images.extend(read(&file.path().display().to_string(), text)?);
    }
    Ok(images)
}

fn read(file: &str, text: &str) -> Result<Vec<Arc<ImageData>>, ImageError> {
    let error = |reason: String| ImageError {
        file: file.to_owned(),
        reason,
    };
    let value: Value = yaml::to_value(text.as_bytes()).map_err(|why| error(format!("{why:?}")))?;
    let images: Vec<ImageData> = serde_json::from_value(value).map_err(|why| error(why.to_string()))?;
    Ok(images.into_iter().map(Arc::new).collect())
}

/// Splits a name, without the default registry, into repository and tag.
fn split(name: &str) -> (&str, Option<&str>) {
    let name = name.strip_prefix("docker.io/").unwrap_or(name);
    let name = name.strip_prefix("library/").unwrap_or(name);
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let ((repository, tag), (wanted, wanted_tag)) = (split(name), split(pattern));
    let tag_fits = wanted_tag.is_none_or(|wanted| matches(wanted, tag.unwrap_or("latest")));
    tag_fits && matches(wanted, repository)
}

/// Whether `text` matches a pattern with `*` for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text
            .strip_prefix(start)
            .is_some_and(|text| (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| matches(rest, text)))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("nginx", "nginx:1.9", true)]
    #[case("nginx", "docker.io/library/nginx", true)]
    #[case("nginx:1.*", "nginx:1.9", true)]
    #[case("nginx:2", "nginx:1.9", false)]
    #[case("nginx:latest", "nginx", true)]
    #[case("nginx", "example.com/nginx", false)]
    #[case("*/nginx-*", "gcr.io:5000/google/nginx-slim:0.1", true)]
    fn a_pattern_matches_image_names(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(fits(pattern, name), expected);
    }

    #[test]
    fn the_images_of_the_fixtures_are_parsed_once_for_all_clusters() {
        let found = || Images::known().unwrap().find("nginx:1.9").data.unwrap();
        assert!(Arc::ptr_eq(&found(), &found()));
    }

    #[test]
    fn added_images_take_precedence_over_those_of_the_fixtures() {
        let mut images = Images::known().unwrap();
        assert!(images.find("nginx:1.9").data.is_some_and(|data| !data.absent));
        images.add("mine", "[{images: ['nginx:*'], absent: true}]").unwrap();
        assert!(images.find("nginx:1.9").data.is_some_and(|data| data.absent));
        assert!(images.find("example.com/app").data.is_none());
        let error = images.add("mine", "[{images: [a], ports: 1}]").unwrap_err();
        assert!(error.to_string().contains("unknown field `ports`"), "{error}");
    }
}
