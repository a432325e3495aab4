//! The nodes of a cluster that answer calls: one that is dead is passed over, and the calls are spread
//! over the others.
//!
//! Ordinary calls and those to agents have limits of their own, for each endpoint and for each node
//! that a guest is on: one slow node holds up no other, and a slow agent no configuration.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pve_client::{Client, Error};
use pve_types::NodeName;
use tokio::time::{Instant, sleep};

use crate::limit::{FIRST, Limit, Place};

/// How long an endpoint that has never answered is waited for before another one is asked as well.
const HEDGE: Duration = Duration::from_millis(1500);
/// An endpoint passes calls on to nodes that have limits of their own; of so many nodes that are busy
/// each gets its share.
const SHARES: usize = 3;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// The cluster's own files.
    Cluster,
    /// A guest.
    Agent,
}

/// The limits of one endpoint or node.
#[derive(Debug)]
struct Limits {
    calls: Limit,
    agents: Limit,
}

impl Limits {
    fn new(cap: usize) -> Self {
        Self { calls: Limit::new(cap), agents: Limit::new(cap) }
    }

    fn of(&self, ask: Ask) -> &Limit {
        match ask {
            Ask::Cluster => &self.calls,
            Ask::Agent => &self.agents,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Alive,
    Dead,
}

#[derive(Debug)]
struct Endpoint {
    client: Client,
    state: Cell<State>,
    /// The calls that it was chosen for and has not answered.
    load: Cell<usize>,
    limits: Limits,
}

/// The endpoints of a cluster.
#[derive(Debug)]
pub(super) struct Endpoints {
    list: Vec<Endpoint>,
    nodes: RefCell<BTreeMap<NodeName, Rc<Limits>>>,
    cap: usize,
}

impl Endpoints {
    pub(super) fn new(clients: Vec<Client>, cap: usize) -> Self {
        let endpoint = |client| Endpoint {
            client,
            state: Cell::new(State::Unknown),
            load: Cell::new(0),
            limits: Limits::new(cap),
        };
        let list = clients.into_iter().map(endpoint).collect();
        Self { list, nodes: RefCell::default(), cap }
    }

    /// The first endpoint that has answered.
    pub(super) fn alive(&self) -> usize {
        self.list.iter().position(|endpoint| endpoint.state.get() == State::Alive).unwrap_or(0)
    }

    /// How many have neither answered nor failed yet.
    pub(super) fn unknown(&self) -> usize {
        self.list.iter().filter(|endpoint| endpoint.state.get() == State::Unknown).count()
    }

    /// Those that have not answered in all this time are not asked any more.
    pub(super) fn give_up_unknown(&self) {
        for endpoint in &self.list {
            if endpoint.state.get() == State::Unknown {
                endpoint.state.set(State::Dead);
            }
        }
    }

    /// Who calls, for messages.
    pub(super) fn caller(&self) -> String {
        self.list.first().map(|endpoint| endpoint.client.caller()).unwrap_or_default()
    }

    /// A call that any of them may answer; why none did, from each.
    pub(super) async fn any<T>(
        &self,
        call: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Vec<Error>> {
        let mut order: Vec<usize> =
            self.by_state(State::Alive).chain(self.by_state(State::Unknown)).collect();
        if order.is_empty() {
            order.extend(0..self.list.len());
        }
        self.raced(&order, Ask::Cluster, &call).await
    }

    /// A call about a guest on this node.
    pub(super) async fn call<T>(
        &self,
        ask: Ask,
        node: &NodeName,
        call: impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let limits = self.limits(node);
        let place = limits.of(ask).enter().await;
        let started = Instant::now();
        let result = patient(self.chosen(ask, &call), ask, place, started).await;
        result.map_err(|mut errors| errors.remove(0))
    }

    /// Asks the endpoint that has the least to do, or another one when that does not work.
    async fn chosen<T>(
        &self,
        ask: Ask,
        call: &impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Vec<Error>> {
        let chosen = self.choose();
        let result = if self.list[chosen].state.get() == State::Alive || self.list.len() == 1 {
            let result = self.at(chosen, ask, call).await;
            match result {
                Err(error) if self.list.len() > 1 && is_dead(&error) => {
                    self.list[chosen].state.set(State::Dead);
                    Err(vec![error])
                }
                result => result.map_err(|error| vec![error]),
            }
        } else {
            let order: Vec<usize> =
                [chosen].into_iter().chain(self.by_state(State::Alive)).collect();
            self.raced(&order, ask, call).await
        };
        match result {
            // one that has died since is passed over as well
            Err(errors) if self.list.len() > 1 && errors.iter().all(is_dead) => {
                let others: Vec<usize> = self.by_state(State::Alive).collect();
                if others.is_empty() { Err(errors) } else { self.raced(&others, ask, call).await }
            }
            result => result,
        }
    }

    /// The limits of a node.
    fn limits(&self, node: &NodeName) -> Rc<Limits> {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(limits) = nodes.get(node) {
            return Rc::clone(limits);
        }
        let limits = Rc::new(Limits::new(self.cap));
        nodes.insert(node.clone(), Rc::clone(&limits));
        let floor = FIRST * nodes.len().div_ceil(self.list.len()).min(SHARES);
        for endpoint in &self.list {
            endpoint.limits.calls.at_least(floor);
            endpoint.limits.agents.at_least(floor);
        }
        limits
    }

    fn by_state(&self, state: State) -> impl Iterator<Item = usize> {
        let fits = move |(index, endpoint): (usize, &Endpoint)| {
            (endpoint.state.get() == state).then_some(index)
        };
        self.list.iter().enumerate().filter_map(fits)
    }

    /// The one with the fewest calls; first one that is not known yet, for one call.
    fn choose(&self) -> usize {
        let idle = self.by_state(State::Unknown).find(|index| self.list[*index].load.get() == 0);
        let least = || self.by_state(State::Alive).min_by_key(|index| self.list[*index].load.get());
        idle.or_else(least).unwrap_or(0)
    }

    /// Asks one after the other, the next when one is dead or takes long, until one answers.
    async fn raced<T>(
        &self,
        order: &[usize],
        ask: Ask,
        call: &impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Vec<Error>> {
        let mut waiting = order.iter();
        let mut under_way = FuturesUnordered::new();
        let mut failures = Vec::new();
        loop {
            if let Some(&index) = waiting.next() {
                under_way.push(async move { (index, self.at(index, ask, call).await) });
            }
            let answer = tokio::select! {
                answer = under_way.next() => answer,
                () = sleep(HEDGE), if waiting.len() > 0 => continue,
            };
            match answer {
                None => return Err(failures),
                Some((_, Ok(value))) => return Ok(value),
                Some((index, Err(error))) if is_dead(&error) => {
                    self.list[index].state.set(State::Dead);
                    failures.push(error);
                }
                Some((_, Err(error))) => return Err(vec![error]),
            }
        }
    }

    async fn at<T>(
        &self,
        index: usize,
        ask: Ask,
        call: &impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let endpoint = &self.list[index];
        let _load = Load::on(&endpoint.load);
        let place = endpoint.limits.of(ask).enter().await;
        let result = patient(call(&endpoint.client), ask, place, Instant::now()).await;
        if result.as_ref().err().is_none_or(|error| !is_dead(error)) {
            endpoint.state.set(State::Alive);
        }
        result
    }
}

/// Waits for an answer. A guest that takes long is not the server's business any more, and gives its
/// place to another call.
async fn patient<T>(
    call: impl Future<Output = T>,
    ask: Ask,
    mut place: Place<'_>,
    started: Instant,
) -> T {
    let mut call = std::pin::pin!(call);
    if ask == Ask::Agent {
        tokio::select! {
            answer = &mut call => {
                place.answered(started.elapsed());
                return answer;
            }
            () = sleep(place.patience()) => place.step_out(),
        }
    }
    let answer = call.await;
    place.answered(started.elapsed());
    answer
}

/// Whether it is the endpoint that does not work, and not what is behind it.
fn is_dead(error: &Error) -> bool {
    matches!(error, Error::NotSent { .. } | Error::MaybeSent { status: None, .. })
}

/// Counts a call for as long as it lives.
struct Load<'a>(&'a Cell<usize>);

impl<'a> Load<'a> {
    fn on(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
