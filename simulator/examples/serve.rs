//! A simulator on the address that is the first argument, under the profile that is the second, until the process is ended.

use stuntdouble_simulator::Simulator;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Simulator::builder().bare(true);
    let mut arguments = std::env::args().skip(1);
    if let Some(address) = arguments.next() {
        builder = builder.listen(address.parse()?);
    }
    if let Some(profile) = arguments.next() {
        builder = builder.profile(profile.parse()?);
    }
    let simulator = builder.start().await?;
    println!("ready: {}", simulator.url());
    tokio::signal::ctrl_c().await?;
    simulator.shutdown().await;
    Ok(())
}
