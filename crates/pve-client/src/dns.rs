//! Names to addresses without the C library: a static program that asks it crashes inside the name
//! service modules it loads. `/etc/hosts` and `/etc/resolv.conf` are read here instead.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use hickory_resolver::config::{LookupIpStrategy, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The resolver of a client. It is built at the first name, inside the runtime it needs.
#[derive(Clone, Default)]
pub(crate) struct Resolver(Arc<OnceLock<TokioResolver>>);

impl Resolver {
    /// The addresses of a name.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NetError> {
        let resolver = match self.0.get() {
            Some(resolver) => resolver,
            None => {
                let built = build()?;
                self.0.get_or_init(|| built)
            }
        };
        Ok(resolver.lookup_ip(name).await?.iter().collect())
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.addresses(name.as_str()).await?;
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn build() -> Result<TokioResolver, NetError> {
    // Without a resolv.conf there is /etc/hosts and nothing else; no server of our choosing is asked.
    let mut builder: ResolverBuilder<_> = TokioResolver::builder_tokio().unwrap_or_else(|_| {
        let nobody = ResolverConfig::from_parts(None, Vec::new(), Vec::new());
        TokioResolver::builder_with_config(nobody, TokioRuntimeProvider::default())
    });
    builder.options_mut().ip_strategy = LookupIpStrategy::Ipv6AndIpv4;
    builder.build()
}
