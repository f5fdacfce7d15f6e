//! Queries and their answers.

use hickory_proto::{
    op::{Edns, Message, MessageType, Metadata, OpCode, ResponseCode},
    rr::{
        DNSClass, Name, RData, Record, RecordType,
        rdata::{A, SOA, SRV},
    },
};

use crate::cluster::{Meaning, Names};

/// How long an answer may be kept, in seconds.
const TTL: u32 = 30;
/// The priority of every port.
const PRIORITY: u16 = 10;
/// Most bytes of an answer over UDP, whatever the query offers.
const LONGEST: u16 = 4096;
/// Bytes of a header.
const HEADER: usize = 12;

/// How an answer gets to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// An answer that does not fit in a packet is truncated, so that the client asks over TCP.
    Udp,
    /// An answer may be long.
    Tcp,
}

/// The answer to a query; `None` if it deserves none.
pub(super) fn respond(names: &Names, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let Ok(request) = Message::from_vec(query) else {
        return refuse(query);
    };
    if request.metadata.message_type == MessageType::Response {
        return None;
    }
    let response = answer(names, &request);
    let bytes = response.to_vec().ok()?;
    let most = match transport {
        Transport::Udp => request.max_payload().min(LONGEST),
        Transport::Tcp => u16::MAX,
    };
    if bytes.len() <= usize::from(most) {
        return Some(bytes);
    }
    response.truncate().to_vec().ok()
}

/// The answer to what is no query, if it is long enough to have an id.
fn refuse(query: &[u8]) -> Option<Vec<u8>> {
    let (Some(&[first, second, flags]), true) = (query.first_chunk(), query.len() >= HEADER) else {
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
        edns.set_max_payload(LONGEST);
        response.set_edns(edns);
    }
    response.metadata.response_code = match request.queries.as_slice() {
        _ if request.metadata.op_code != OpCode::Query => ResponseCode::NotImp,
        [query] if query.query_class == DNSClass::IN => {
            let meaning = names.meaning(&query.name.to_ascii());
            response.metadata.authoritative = meaning != Meaning::Foreign;
            add_records(&mut response, &query.name, query.query_type, meaning)
        }
        [_] => ResponseCode::Refused,
        _ => ResponseCode::FormErr,
    };
    response
}

/// Adds the records of a name whose type is in the question.
fn add_records(response: &mut Message, name: &Name, kind: RecordType, meaning: Meaning) -> ResponseCode {
    let asks_for = |wanted: RecordType| kind == wanted || kind == RecordType::ANY;
    let code = match meaning {
        Meaning::Foreign => return ResponseCode::Refused,
        Meaning::Missing => ResponseCode::NXDomain,
        Meaning::Addresses(addresses) if asks_for(RecordType::A) => {
            let records = addresses.into_iter().map(|address| record(name, RData::A(A(address))));
            response.add_answers(records.collect::<Vec<_>>());
            ResponseCode::NoError
        }
        Meaning::Ports(ports) if asks_for(RecordType::SRV) => {
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

/// Who answers for the cluster's names, and how long it may be remembered that there is none.
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
