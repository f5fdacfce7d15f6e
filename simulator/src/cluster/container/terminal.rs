//! The terminal between a client and a process.
//!
//! - Input is edited by line and echoed. Ctrl-C interrupts; Ctrl-D at the start of a line ends the input.
//! - Output has a carriage return before each line feed.

use bytes::{Bytes, BytesMut};
use stuntdouble_shell::Signal;
use tokio::sync::mpsc;

const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const KILL_LINE: u8 = 0x15;
const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// Translates output for a terminal.
pub(super) fn output(text: &Bytes) -> Bytes {
    if !text.contains(&b'\n') {
        return text.clone();
    }
    let mut shown = BytesMut::with_capacity(text.len() + 8);
    let mut last = 0;
    for byte in text {
        if *byte == b'\n' && last != b'\r' {
            shown.extend_from_slice(b"\r");
        }
        shown.extend_from_slice(&[*byte]);
        last = *byte;
    }
    shown.freeze()
}

/// Edits input into lines, until the input ends or the process stops reading.
pub(super) async fn edit(
    mut typed: mpsc::Receiver<Bytes>,
    lines: mpsc::Sender<Bytes>,
    echo: impl Fn(Bytes),
    signals: mpsc::Sender<Signal>,
) {
    let mut line = BytesMut::new();
    // Number of bytes of an escape sequence read so far.
    let mut escape = 0;
    while let Some(piece) = typed.recv().await {
        for byte in piece {
            if escape > 0 {
                let ends = escape > 1 && (byte.is_ascii_alphabetic() || byte == b'~');
                escape = if ends || (escape == 1 && byte != b'[') {
                    0
                } else {
                    escape + 1
                };
                continue;
            }
            match byte {
                ESCAPE => escape = 1,
                INTERRUPT => {
                    line.clear();
                    echo(Bytes::from_static(b"^C\r\n"));
                    // A process that has ended takes no signal.
                    let _ = signals.send(Signal::Interrupt).await;
                }
                END if line.is_empty() => return,
                END => match lines.send(line.split().freeze()).await {
                    Ok(()) => {}
                    Err(_) => return,
                },
                DELETE | BACKSPACE if line.is_empty() => {}
                DELETE | BACKSPACE => {
                    line.truncate(line.len() - 1);
                    echo(Bytes::from_static(b"\x08 \x08"));
                }
                KILL_LINE => {
                    echo(Bytes::from(b"\x08 \x08".repeat(line.len())));
                    line.clear();
                }
                b'\r' | b'\n' => {
                    echo(Bytes::from_static(b"\r\n"));
                    line.extend_from_slice(b"\n");
                    if lines.send(line.split().freeze()).await.is_err() {
                        return;
                    }
                }
                byte if line.len() < MAX_LINE_BYTES => {
                    line.extend_from_slice(&[byte]);
                    echo(Bytes::copy_from_slice(&[byte]));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn lines_are_edited_and_echoed() {
        let (typed, keys) = mpsc::channel(8);
        let (lines, mut read) = mpsc::channel(8);
        let (signals, mut received) = mpsc::channel(8);
        let echoed = Arc::new(Mutex::new(Vec::new()));
        let echo = echoed.clone();
        for piece in ["lx\x7fs\r", "\x1b[A", "no\x03", "\x04"] {
            typed.send(Bytes::from_static(piece.as_bytes())).await.unwrap();
        }
        edit(
            keys,
            lines,
            move |piece| echo.lock().unwrap().extend_from_slice(&piece),
            signals,
        )
        .await;
        assert_eq!(read.recv().await.unwrap(), "ls\n");
        assert_eq!(
            (read.recv().await, received.recv().await),
            (None, Some(Signal::Interrupt))
        );
        let echoed = String::from_utf8(echoed.lock().unwrap().clone()).unwrap();
        assert_eq!(echoed, "lx\x08 \x08s\r\nno^C\r\n");
        assert_eq!(output(&Bytes::from_static(b"a\nb\r\n")), "a\r\nb\r\n");
    }
}
