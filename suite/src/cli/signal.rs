//! The signals that stop the program: SIGINT, SIGTERM and SIGHUP; Ctrl-C on other systems.
//!
//! Guarantees:
//! - A server ends within [`DEADLINE`] of the first signal, and at once at the second one, whatever its threads do.
//!   If it has to be forced, the exit code is [`exit::FORCED`].
//!
//! Limits:
//! - SIGHUP does not stop a program that was started with SIGHUP ignored, as by `nohup`; detected on Linux only.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::exit;

/// Maximum time from the signal to the end of a server.
const DEADLINE: Duration = Duration::from_millis(4500);

/// The next signal that stops the program.
pub(super) struct StopSignal(oneshot::Receiver<()>);

impl StopSignal {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// The error of the operating system, if it refuses.
    pub(super) fn catch() -> io::Result<Self> {
        Self::catch_within(None)
    }

    /// Catches the signals, and ends the process at a second one, or [`DEADLINE`] after the first.
    ///
    /// # Errors
    /// The error of the operating system, if it refuses.
    pub(super) fn catch_with_deadline() -> io::Result<Self> {
        Self::catch_within(Some(DEADLINE))
    }

    /// Waits on a separate thread, so that a busy runtime does not delay the signals.
    fn catch_within(deadline: Option<Duration>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::catch()?
        };
        let (sender, receiver) = oneshot::channel();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(signals.received());
            // The receiver is gone if the command has already ended: not an error.
            let _ = sender.send(());
            if let Some(deadline) = deadline {
                // A second signal and the deadline have the same effect.
                let _ = runtime.block_on(async { tokio::time::timeout(deadline, signals.received()).await });
                eprintln!("stuntdouble: forced to stop before the shutdown was complete");
                std::process::exit(exit::FORCED.into());
            }
        })?;
        Ok(Self(receiver))
    }

    /// Waits for the signal.
    pub(super) async fn received(self) {
        if self.0.await.is_err() {
            // The signal thread failed: the program runs until it is killed.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn catch() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if ignores_hangup() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
        })
    }

    async fn received(&mut self) {
        let Self {
            interrupt,
            terminate,
            hangup,
        } = self;
        let hangup = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether the process was started with SIGHUP ignored: bit 0 of the mask in `/proc/self/status`.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(unix)]
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn catch() -> io::Result<Self> {
        Ok(Self)
    }

    async fn received(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status_of_the_process() {
        assert_eq!(ignored("SigBlk:\t0\nSigIgn:\t0000000000001001\n"), Some(0x1001));
        assert_eq!(ignored("SigBlk:\t0\n"), None);
    }
}
