//! The log search backend as a program: `search_server [--listen ADDR] [--clock TIMESTAMP]`. `--clock` sets a fixed
//! time.

use std::sync::Arc;

use stuntdouble_search::{Options, SearchServer};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut listen = "127.0.0.1:0".to_owned();
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--listen" => listen = value,
            "--clock" => {
                let time: jiff::Timestamp = value.parse()?;
                options.clock = Arc::new(move || time);
            }
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let listener = TcpListener::bind(&listen).await?;
    println!("listening on http://{}", listener.local_addr()?);
    SearchServer::new(options).serve(listener).await?;
    Ok(())
}
