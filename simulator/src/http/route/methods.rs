//! Sets of HTTP methods.

use http::Method;

/// A set of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Methods(u8);

impl Methods {
    /// No methods: the path does not exist.
    pub(crate) const NONE: Self = Self(0);
    /// GET.
    pub(crate) const GET: Self = Self(1);
    pub(super) const PUT: Self = Self(2);
    pub(super) const POST: Self = Self(4);
    pub(super) const PATCH: Self = Self(8);
    pub(super) const DELETE: Self = Self(16);
    const HEAD: Self = Self(32);
    const OPTIONS: Self = Self(64);
    /// Methods of a proxy.
    pub(super) const PROXY: Self = Self(1 | 2 | 4 | 16 | 32 | 64);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Methods of a proxy, with the words for them in operation names.
    pub(crate) const PROXIED: [(&'static str, &'static str); 6] = [
        ("GET", "Get"),
        ("PUT", "Put"),
        ("POST", "Post"),
        ("DELETE", "Delete"),
        ("HEAD", "Head"),
        ("OPTIONS", "Options"),
    ];

    /// Returns the discovery verbs of these methods.
    pub(crate) fn verbs(self) -> Vec<&'static str> {
        let words = [
            (Self::POST, "create"),
            (Self::DELETE, "delete"),
            (Self::GET, "get"),
            (Self::PATCH, "patch"),
            (Self::PUT, "update"),
        ];
        words
            .into_iter()
            .filter(|(method, _)| self.0 & method.0 != 0)
            .map(|(_, word)| word)
            .collect()
    }

    /// Whether the set contains `method`.
    pub(crate) fn has(self, method: &Method) -> bool {
        let one = match *method {
            Method::GET => Self::GET,
            Method::PUT => Self::PUT,
            Method::POST => Self::POST,
            Method::PATCH => Self::PATCH,
            Method::DELETE => Self::DELETE,
            Method::HEAD => Self::HEAD,
            Method::OPTIONS => Self::OPTIONS,
            _ => Self::NONE,
        };
        self.0 & one.0 != 0
    }
}

/// Returns the methods of the subresource `name`.
pub(crate) fn subresource_methods(name: &str) -> Methods {
    match name {
        "status" | "finalize" => Methods::PUT,
        "scale" => Methods::GET.with(Methods::PUT).with(Methods::PATCH),
        "binding" | "rollback" => Methods::POST,
        "log" => Methods::GET,
        "attach" | "exec" | "portforward" => Methods::GET.with(Methods::POST),
        _ => Methods::NONE,
    }
}
