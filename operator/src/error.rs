//! What makes a reconcile fail and be tried again. What trying again cannot cure is not an error but
//! a `Stalled` condition.

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the API server refused to {doing}")]
    Kube {
        doing: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the brokers could not {doing}")]
    Brokers {
        doing: &'static str,
        #[source]
        source: Box<api::client::Error>,
    },
    #[error("no broker of cluster {0} can be reached")]
    NoBroker(String),
    #[error("the object has no {0}")]
    Incomplete(&'static str),
    #[error("a built object cannot be serialised")]
    Serialise(#[from] serde_json::Error),
}

impl Error {
    /// Label of the error metric.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Kube { .. } => "kubernetes",
            Self::Brokers { .. } | Self::NoBroker(_) => "brokers",
            Self::Incomplete(_) | Self::Serialise(_) => "object",
        }
    }

    /// The error and its causes in one line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(self);
        while let Some(e) = cause {
            text.push_str(": ");
            text.push_str(&e.to_string());
            cause = e.source();
        }
        text
    }
}

/// Says what was being done when a call failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, kube::Error> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Kube {
            doing,
            source: Box::new(source),
        })
    }
}

impl<T> Doing<T> for Result<T, api::client::Error> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Brokers {
            doing,
            source: Box::new(source),
        })
    }
}

/// `None` for what is not there.
pub(crate) fn found<T>(
    answer: Result<T, api::client::Error>,
) -> Result<Option<T>, api::client::Error> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(e),
    }
}
