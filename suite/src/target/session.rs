//! One trial's talk with the target, and what was said.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Stream, Target, TargetError};
use crate::check::Answer;
use crate::request::Request;

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What was asked.
    pub request: Request,
    /// What was answered, as far as it was read.
    pub answer: Answer,
    /// When it was asked, since the session began.
    pub at: Duration,
    /// How long the answer took, as far as it was read.
    pub took: Duration,
}

/// The exchanges of one trial with a target.
#[derive(Debug)]
pub struct Session<'a> {
    target: &'a Target,
    began: Instant,
    exchanges: Mutex<Vec<Exchange>>,
}

impl<'a> Session<'a> {
    /// A session in which nothing was said yet.
    pub fn with(target: &'a Target) -> Self {
        Self { target, began: Instant::now(), exchanges: Mutex::new(Vec::new()) }
    }

    /// The target.
    pub fn target(&self) -> &'a Target {
        self.target
    }

    /// Asks, reads the whole answer, and keeps both.
    ///
    /// # Errors
    /// If no whole answer came in time.
    pub async fn send(&self, request: &Request) -> Result<Answer, TargetError> {
        let asked = Instant::now();
        let answer = self.target.send(request).await?;
        self.keep(request, &answer, asked);
        Ok(answer)
    }

    /// Asks and reads the head of the answer. What is heard of the stream is kept with [`Session::keep`].
    ///
    /// # Errors
    /// If no head came in time.
    pub async fn open(&self, request: &Request) -> Result<Stream, TargetError> {
        self.target.open(request).await
    }

    /// Keeps an exchange that began at some time.
    pub fn keep(&self, request: &Request, answer: &Answer, asked: Instant) {
        let exchange = Exchange { request: request.clone(), answer: answer.clone(), at: asked.duration_since(self.began), took: asked.elapsed() };
        self.lock().push(exchange);
    }

    /// What was said so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Exchange>> {
        // A list is whole whoever panicked beside it.
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
