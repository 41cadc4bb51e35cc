//! The tasks of one end, and the instants for which they sleep. One thread runs them all, each until it waits; what it
//! waits for is the thread's loop to watch. So no runtime decides an order, and all times are the kernel's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use anyhow::{Result, anyhow};
use futures_executor::LocalSpawner;
use futures_util::task::LocalSpawnExt;
use hyper::rt::Executor;

use crate::time::monotonic_ns;

/// Starts tasks on this thread.
#[derive(Clone)]
pub struct Spawner(pub LocalSpawner);

impl Spawner {
    /// Starts a task. It fails only after the thread's loop has ended.
    pub fn start(&self, task: impl Future<Output = ()> + 'static) -> Result<()> {
        self.0.spawn_local(task).map_err(|e| anyhow!("task: {e}"))
    }
}

impl<F: Future + 'static> Executor<F> for Spawner {
    fn execute(&self, task: F) {
        let ended = self.start(async {
            task.await;
        });
        // hyper cannot be told, and a loop that has ended needs no tasks.
        drop(ended);
    }
}

/// Instants that tasks sleep for.
#[derive(Clone, Default)]
pub struct Timers(Rc<RefCell<Waiting>>);

#[derive(Default)]
struct Waiting {
    /// By the instant and, for those of one instant, the order in which they began.
    wakers: BTreeMap<(i64, u64), Waker>,
    begun: u64,
}

impl Timers {
    /// Sleeps until an instant of `monotonic_ns`.
    pub async fn sleep_until(&self, at_ns: i64) {
        let mut key = None;
        poll_fn(|cx| {
            let mut waiting = self.0.borrow_mut();
            if at_ns <= monotonic_ns() {
                if let Some(key) = key {
                    waiting.wakers.remove(&key);
                }
                return Poll::Ready(());
            }
            let begun = waiting.begun;
            let key = *key.get_or_insert((at_ns, begun));
            waiting.begun += 1;
            waiting.wakers.insert(key, cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// The next instant for which a task sleeps.
    pub fn next_ns(&self) -> Option<i64> {
        let waiting = self.0.borrow();
        waiting
            .wakers
            .first_key_value()
            .map(|((at_ns, _), _)| *at_ns)
    }

    /// Wakes the tasks whose instant has come.
    pub fn wake_due(&self) {
        let now_ns = monotonic_ns();
        let mut waiting = self.0.borrow_mut();
        while let Some(first) = waiting.wakers.first_entry()
            && first.key().0 <= now_ns
        {
            first.remove().wake();
        }
    }
}
