//! DNS queries and responses.

use hickory_proto::{
    op::{Edns, Message, MessageType, Metadata, OpCode, ResponseCode},
    rr::{
        DNSClass, Name, RData, Record, RecordType,
        rdata::{A, SOA, SRV},
    },
};

use crate::cluster::{Names, Resolution};

/// TTL of a response in seconds.
const TTL: u32 = 30;
/// Priority of every SRV record.
const PRIORITY: u16 = 10;
/// Maximum size in bytes of a response over UDP, even if the query allows more.
const MAX_UDP_BYTES: u16 = 4096;
/// Size of a header in bytes.
const HEADER_BYTES: usize = 12;

/// The transport of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// A response that does not fit in a packet is truncated, so that the client retries over TCP.
    Udp,
    /// A response has no size limit.
    Tcp,
}

/// Returns the response to a query, or `None` if it must be ignored.
pub(super) fn respond(names: &Names, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let Ok(request) = Message::from_vec(query) else {
        return format_error(query);
    };
    if request.metadata.message_type == MessageType::Response {
        return None;
    }
    let response = answer(names, &request);
    let bytes = response.to_vec().ok()?;
    let max_bytes = match transport {
        Transport::Udp => request.max_payload().min(MAX_UDP_BYTES),
        Transport::Tcp => u16::MAX,
    };
    if bytes.len() <= usize::from(max_bytes) {
        return Some(bytes);
    }
    response.truncate().to_vec().ok()
}

/// Returns the response to a malformed query, if it is long enough to have an id.
fn format_error(query: &[u8]) -> Option<Vec<u8>> {
    let (Some(&[first, second, flags]), true) = (query.first_chunk(), query.len() >= HEADER_BYTES) else {
        return None;
    };
    let is_response = flags & 0x80 != 0;
    if is_response {
        return None;
    }
    let id = u16::from_be_bytes([first, second]);
    let message = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
    message.to_vec().ok()
}

fn answer(names: &Names, request: &Message) -> Message {
    let mut response = Message::new(request.metadata.id, MessageType::Response, request.metadata.op_code);
    response.metadata = Metadata::response_from_request(&request.metadata);
    response.metadata.recursion_available = true;
    response.add_queries(request.queries.iter().cloned());
    if request.edns.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(MAX_UDP_BYTES);
        response.set_edns(edns);
    }
    response.metadata.response_code = match request.queries.as_slice() {
        _ if request.metadata.op_code != OpCode::Query => ResponseCode::NotImp,
        [query] if query.query_class == DNSClass::IN => {
            let resolution = names.resolve_name(&query.name.to_ascii());
            response.metadata.authoritative = resolution != Resolution::Foreign;
            add_records(&mut response, &query.name, query.query_type, resolution)
        }
        [_] => ResponseCode::Refused,
        _ => ResponseCode::FormErr,
    };
    response
}

/// Adds the records of a name that have the queried type.
fn add_records(response: &mut Message, name: &Name, kind: RecordType, resolution: Resolution) -> ResponseCode {
    let asks_for = |wanted: RecordType| kind == wanted || kind == RecordType::ANY;
    let code = match resolution {
        Resolution::Foreign => return ResponseCode::Refused,
        Resolution::Missing => ResponseCode::NXDomain,
        Resolution::Addresses(addresses) if asks_for(RecordType::A) => {
            let records = addresses.into_iter().map(|address| record(name, RData::A(A(address))));
            response.add_answers(records.collect::<Vec<_>>());
            ResponseCode::NoError
        }
        Resolution::Ports(ports) if asks_for(RecordType::SRV) => {
            let weight = u16::try_from(100 / ports.len().max(1)).unwrap_or_default();
            for port in ports {
                let Ok(host) = Name::from_ascii(format!("{}.", port.host)) else {
                    continue;
                };
                response.add_additional(record(&host, RData::A(A(port.address))));
                response.add_answer(record(name, RData::SRV(SRV::new(PRIORITY, weight, port.port, host))));
            }
            ResponseCode::NoError
        }
        _ => ResponseCode::NoError,
    };
    if response.answers.is_empty()
        && let Some(authority) = authority()
    {
        response.add_authority(authority);
    }
    code
}

fn record(name: &Name, data: RData) -> Record {
    Record::from_rdata(name.clone(), TTL, data)
}

/// Returns the SOA record, with the TTL of negative responses.
fn authority() -> Option<Record> {
    let name = |text: &str| Name::from_ascii(text).ok();
    let soa = SOA::new(
        name("ns.dns.cluster.local.")?,
        name("hostmaster.cluster.local.")?,
        1,
        28_800,
        7_200,
        604_800,
        60,
    );
    Some(Record::from_rdata(name("cluster.local.")?, 60, RData::SOA(soa)))
}
