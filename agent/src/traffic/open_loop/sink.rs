//! The receiving end of an open-loop flow: it accepts every connection, and takes and discards its bytes as they arrive.
//!
//! A thread takes one connection after the other: it sleeps in accept(2), and then in recv(2) until the transfer is
//! complete. A system call can cost as much as two packets; a thread makes five for a connection, where epoll(7) needs
//! two for each packet.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::socket::{MsgFlags, recv};

use super::arrivals::HEAD;
use super::crowd::Crowd;
use super::shared::{Shared, Taken};
use crate::traffic::connection::Listener;
use crate::traffic::tcp;
use crate::traffic::threads::{lock, spawn};

/// The most threads of a flow. Further connections are the crowd's: a thread for each would need memory that the machine
/// may lack.
const THREADS: usize = 128;

pub struct Sink {
    name: String,
    listener: Listener,
    shared: Shared,
    crew: Mutex<Crew>,
    crowd: Crowd,
}

/// The threads of a sink, of which one always waits for a connection.
#[derive(Default)]
struct Crew {
    threads: usize,
    waiting: usize,
}

impl Sink {
    /// Starts to accept.
    pub fn start(name: String, listener: Listener, shared: Shared) -> Result<()> {
        let sink = Arc::new(Self {
            name,
            listener,
            crowd: Crowd::new(shared.clone())?,
            shared,
            crew: Mutex::default(),
        });
        sink.join(&mut lock(&sink.crew))?;
        let crowd = Arc::clone(&sink);
        spawn(sink.name.clone(), move || {
            crowd.shared.keep_error(crowd.crowd.run());
        })?;
        Ok(())
    }

    /// Starts a thread that waits for a connection.
    fn join(self: &Arc<Self>, crew: &mut Crew) -> Result<()> {
        let sink = Arc::clone(self);
        spawn(self.name.clone(), move || {
            sink.shared.keep_error(sink.serve());
        })?;
        crew.threads += 1;
        crew.waiting += 1;
        Ok(())
    }

    /// Serves one connection after the other, until the machine ends.
    fn serve(self: &Arc<Self>) -> Result<()> {
        loop {
            let fd = self.listener.accept()?;
            // SAFETY: accept(2) has just made this descriptor, and nothing else owns it.
            let socket = unsafe { OwnedFd::from_raw_fd(fd) };
            lock(&self.shared.progress).receiving.insert(fd);
            if !self.leave_another()? {
                self.crowd.add(socket)?;
                continue;
            }
            self.shared.taken(fd, self.take(fd)?);
            drop(socket);
            lock(&self.crew).waiting += 1;
        }
    }

    /// Makes sure that another thread waits for the next connection; false if there cannot be one more.
    fn leave_another(self: &Arc<Self>) -> Result<bool> {
        let mut crew = lock(&self.crew);
        if crew.waiting == 1 {
            if crew.threads == THREADS {
                return Ok(false);
            }
            self.join(&mut crew)?;
        }
        crew.waiting -= 1;
        Ok(true)
    }

    /// Takes all bytes of a transfer, sleeping until they have arrived or the connection has ended.
    fn take(&self, fd: RawFd) -> Result<Taken> {
        let mut head = [0; HEAD as usize];
        let got = recv(fd, &mut head, MsgFlags::MSG_WAITALL).unwrap_or(0);
        if got < head.len() {
            return Ok(Taken {
                bytes: got as u64,
                complete: None,
            });
        }
        let (number, bytes) = self.shared.transfer(head)?;
        let taken = HEAD + tcp::discard(fd, bytes - HEAD);
        Ok(Taken {
            bytes: taken,
            complete: (taken == bytes).then_some(number),
        })
    }
}
