//! A link to a member whose connections can be closed or blocked.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use parking_lot::{Condvar, Mutex};

/// Fault of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Open and new connections are closed.
    Closed,
    /// Connections stay open, but no data passes until the fault ends.
    Silent,
}

/// Relays connections from a loopback port to a member.
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
    /// Creates a link to the member at `url`, `http://HOST:PORT`.
    pub fn to(url: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let (target, accepting) = (url.trim_start_matches("http://").to_owned(), state.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.connections.lock().has_ended {
                    return;
                }
                accepting.connect(client, &target);
            }
        });
        Self {
            url: format!("http://{address}"),
            state,
        }
    }

    /// Returns the URL of the link.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Starts a fault, or ends it with `None`.
    pub fn set(&self, fault: Option<Fault>) {
        let mut connections = self.state.connections.lock();
        connections.fault = fault;
        if fault == Some(Fault::Closed) {
            for socket in connections.open.drain(..) {
                // Fails if the peer has closed it.
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
        // Wakes the accepting thread, so that it ends.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

impl State {
    fn connect(self: &Arc<Self>, client: TcpStream, target: &str) {
        let Ok(member) = TcpStream::connect(target) else { return };
        let mut connections = self.connections.lock();
        if connections.fault == Some(Fault::Closed) {
            return;
        }
        for (from, to) in [(&client, &member), (&member, &client)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let state = self.clone();
            thread::spawn(move || state.pass(from, to));
        }
        connections.open.extend([client, member]);
    }

    /// Relays bytes until one side closes.
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
