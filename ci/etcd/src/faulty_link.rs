//! Connections to a member that can be cut or held up.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use parking_lot::{Condvar, Mutex};

/// What is wrong with the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Open connections are closed, and new ones at once.
    Closed,
    /// Connections stay open, and nothing goes through until the fault is over.
    Silent,
}

/// Passes the connections to a loopback port on to a member.
#[derive(Debug)]
pub struct FaultyLink {
    url: String,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    connections: Mutex<Connections>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    fault: Option<Fault>,
    open: Vec<TcpStream>,
    has_ended: bool,
}

impl FaultyLink {
    /// A link to the member at `url`, `http://HOST:PORT`.
    pub fn to(url: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let (target, accepting) = (url.trim_start_matches("http://").to_owned(), state.clone());
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if accepting.connections.lock().has_ended {
                    return;
                }
                accepting.connect(near, &target);
            }
        });
        Self {
            url: format!("http://{address}"),
            state,
        }
    }

    /// The URL of the link.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Begins a fault, or with `None` ends it.
    pub fn set(&self, fault: Option<Fault>) {
        let mut connections = self.state.connections.lock();
        connections.fault = fault;
        if fault == Some(Fault::Closed) {
            for socket in connections.open.drain(..) {
                // The peer may have closed it.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        self.state.changed.notify_all();
    }
}

impl Drop for FaultyLink {
    fn drop(&mut self) {
        self.set(Some(Fault::Closed));
        self.state.connections.lock().has_ended = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

impl State {
    fn connect(self: &Arc<Self>, near: TcpStream, target: &str) {
        let Ok(far) = TcpStream::connect(target) else { return };
        let mut connections = self.connections.lock();
        if connections.fault == Some(Fault::Closed) {
            return;
        }
        for (from, to) in [(&near, &far), (&far, &near)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let state = self.clone();
            thread::spawn(move || state.pass(from, to));
        }
        connections.open.extend([near, far]);
    }

    /// Passes bytes on until one side closes.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let mut connections = self.connections.lock();
            while connections.fault == Some(Fault::Silent) {
                self.changed.wait(&mut connections);
            }
            drop(connections);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
