//! Scripts and their expected output.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use rstest::rstest;
use stuntdouble_shell::{LIMITS, Machine, NotFound, Process, RealTime, Signal, Time, run};
use tokio::sync::{Mutex, mpsc};

/// A clock whose sleeps end at once. It adds up their durations.
struct SkippingClock(Arc<Mutex<Duration>>);

impl Time for SkippingClock {
    fn now(&self) -> Timestamp {
        let slept = self.0.try_lock().map(|slept| *slept).unwrap_or_default();
        Timestamp::from_second(1_456_826_523).unwrap() + slept
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let slept = self.0.clone();
        async move {
            *slept.lock().await += duration;
            tokio::task::yield_now().await;
        }
        .boxed()
    }
}

fn machine() -> Arc<Machine> {
    Arc::new(Machine::new("web-1", Arc::new(SkippingClock(Arc::default()))))
}

/// Runs a script. Returns its status, standard output and standard error.
async fn sh(machine: &Arc<Machine>, script: &str) -> (i32, String, String) {
    let (process, mut output) = Process::captured(["sh", "-c", script]);
    let status = run(machine.clone(), process).await.unwrap();
    (status, output.stdout().await, output.stderr().await)
}

#[rstest]
#[case(
    "echo 10.244.1.3 | awk -F. '{print $1\"-\"$2\"-\"$3\"-\"$4\".pod\"}'",
    "10-244-1-3.pod\n"
)]
#[case(
    "printf 'a 1\\nb 22\\nc 3\\n' | awk '$2 > 2 { n += $2; print NR, $1 } END { print n / 2, NR }'",
    "2 b\n3 c\n12.5 3\n"
)]
#[case(
    "seq 5 | awk 'NR == 2 { next } /[45]/ { exit 3 } { printf \"%02d;\", $0 }'; echo $?",
    "01;03;3\n"
)]
#[case(
    "echo ' a  b c ' | awk '{ $2 = \"x\"; print; print NF, length($0), substr($0, 3, 1), toupper($3) }'",
    "a x c\n3 5 x C\n"
)]
#[case(
    "echo a,b | awk -F , -v word=yes '{ if ($1 ~ /^a/ && !($2 == \"c\")) print word; else print \"no\" }'",
    "yes\n"
)]
#[case(
    "awk 'BEGIN { i++; i += 2; print i, -i + 1, \"x\" i \"y\", 1/4, index(\"abc\", \"c\") }'",
    "3 -2 x3y 0.25 3\n"
)]
#[case("echo 9 10 | awk '{ print ($1 < $2), (\"9\" < \"10\") }'", "1 0\n")]
#[tokio::test]
async fn awk_works_on_fields_and_lines(#[case] script: &str, #[case] expected: &str) {
    assert_eq!(sh(&machine(), script).await, (0, expected.to_owned(), String::new()));
}

#[rstest]
#[case("awk", "usage")]
#[case("awk '{ print'", "unexpected end")]
#[case("awk '{ for (i = 0; i < 3; i++) print }'", "for is not simulated")]
#[case("echo 1 | awk '{ print 1 / 0 }'", "division by zero")]
#[case("awk 'BEGIN { x = \"aaaaaaaa\"; x = system(\"ls\") }'", "system() is not simulated")]
#[tokio::test]
async fn awk_reports_unsupported_syntax(#[case] script: &str, #[case] complaint: &str) {
    let (status, _, errors) = sh(&machine(), script).await;
    assert!(status == 1 && errors.contains(complaint), "{status} {errors}");
}

#[tokio::test]
async fn sed_prints_changed_lines() {
    let (_, output, _) = sh(
        &machine(),
        "printf 'a\\nb\\n' | sed -n 's/a\\(.*\\)/x\\1/p'; echo c | sed 's/c/d/p'",
    )
    .await;
    assert_eq!(output, "x\nd\nd\n");
}

#[tokio::test]
async fn a_host_has_the_address_of_its_hosts_file() {
    let machine = machine();
    let hosts = "127.0.0.1 localhost # web-1\n10.244.1.3\tweb-1.db.local\tweb-1\n";
    machine.files.write("/etc/hosts", hosts.as_bytes(), false).unwrap();
    let (status, output, _) = sh(&machine, "hostname; hostname -i; hostname -f").await;
    assert_eq!((status, output.as_str()), (0, "web-1\n10.244.1.3\nweb-1.db.local\n"));
}

#[rstest]
#[case("echo a  b 'c  d' \"e  f\"", "a b c  d e  f\n")]
#[case("i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done", "0\n1\n2\n")]
#[case("for x in a b c; do [ $x = b ] && continue; echo $x; done", "a\nc\n")]
#[case(
    "for i in 1 2; do for j in 1 2; do [ $j = 2 ] && break 2; echo $i$j; done; done; echo end",
    "11\nend\n"
)]
#[case("until false; do echo once; break; done", "once\n")]
#[case("seq 3 | while read n; do echo \"<$n>\"; done", "<1>\n<2>\n<3>\n")]
#[case("printf '%s=%03d\\n' a 1 b 22", "a=001\nb=022\n")]
#[case("x='a b'; set -- $x \"$x\"; echo $#; echo \"$2\"", "3\nb\n")]
#[case(
    "f() { local y=in; echo $1 $y; return 3; }; y=out; f one; echo $? $y",
    "one in\n3 out\n"
)]
#[case("case abc in x*) echo x;; a?c|z) echo yes;; *) echo no;; esac", "yes\n")]
#[case("x=$(echo one; echo two); echo \"$x\"; echo $x", "one\ntwo\none two\n")]
#[case("echo `echo back`", "back\n")]
#[case("echo ${a:-def} ${a-} ${a:=set} $a ${a:+alt} ${#a}", "def set set alt 3\n")]
#[case(
    "p=/var/log/app.log.gz; echo ${p##*/} ${p%.*} ${p%%.*} ${p#/*/}",
    "app.log.gz /var/log/app.log /var/log/app log/app.log.gz\n"
)]
#[case("(x=1; exit 4); echo $? ${x:-unset}", "4 unset\n")]
#[case("{ echo a; echo b; } | wc -l", "2\n")]
#[case("cat <<END\n$((2*3)) $HOSTNAME\nEND", "6 web-1\n")]
#[case("cat <<'END'\n$HOSTNAME\nEND", "$HOSTNAME\n")]
#[case("cat <<-END\n\t\tx\n\tEND", "x\n")]
#[case("echo a > /tmp/f; echo b >> /tmp/f; cat < /tmp/f; wc -l /tmp/f", "a\nb\n2 /tmp/f\n")]
#[case("echo err >&2; echo out 2>&1", "out\n")]
#[case("nosuch; echo $?", "127\n")]
#[case("nosuch 2>/dev/null || echo alt", "alt\n")]
#[case("! true; echo $?; ! false; echo $?", "1\n0\n")]
#[case("set -e; false || true; if false; then :; fi; echo here; false; echo not", "here\n")]
#[case("set -e; f() { false; echo in; }; f && echo and; echo after", "in\nand\nafter\n")]
#[case("x=$(false); echo $?; y=1; echo $?", "1\n0\n")]
#[case("set -- a b c; shift; echo $@ $#; for x; do echo $x; done", "b c 2\nb\nc\n")]
#[case(
    "set -- 'a b' c; for x in \"$@\"; do echo \"[$x]\"; done; echo \"$*\"",
    "[a b]\n[c]\na b c\n"
)]
#[case("IFS=:; x=a:b::c; for f in $x; do echo \"[$f]\"; done", "[a]\n[b]\n[]\n[c]\n")]
#[case(
    "mkdir -p /tmp/d; touch /tmp/d/a.x /tmp/d/b.x; echo /tmp/d/*.x /tmp/d/*.y; cd /tmp/d; ls",
    "/tmp/d/a.x /tmp/d/b.x /tmp/d/*.y\na.x\nb.x\n"
)]
#[case("A=1 env | head -n 1; echo ${A:-none}", "A=1\nnone\n")]
#[case("export B=2; sh -c 'echo $B $0 $1' name arg", "2 name arg\n")]
#[case("sh -c 'exit 7'; echo $?", "7\n")]
#[case("eval 'x=5'; echo $x; . /tmp/none; echo not", "5\n")]
#[case("trap 'echo bye' EXIT; echo hi; exit 3", "hi\nbye\n")]
#[case("yes | head -n 2", "y\ny\n")]
#[case(
    "echo one two | tee /tmp/t | { read a b; echo $b $a; }; cat /tmp/t",
    "two one\none two\n"
)]
#[case("expr 2 + 3; expr 7 / 2; expr a = b", "5\n3\n0\n")]
#[case(
    "date -u +%Y-%m-%dT%H:%M:%SZ; sleep 1h; date +%H:%M",
    "2016-03-01T10:02:03Z\n11:02\n"
)]
#[case(
    "hostname; whoami; uname; basename /a/b.c .c; dirname /a/b",
    "web-1\nroot\nLinux\nb\n/a\n"
)]
#[case(
    "echo $((1<2 && 3>2 ? 10 : 20)) $((7%4)) $((-7/2)) $((2+3*4)) $((0x10 + 010))",
    "10 3 -3 14 24\n"
)]
#[case("(sleep 2; echo late) & echo early; wait; echo done", "early\nlate\ndone\n")]
#[case("(exit 5) & wait $!; echo $?", "5\n")]
#[case("seq -s , 1 2 7; seq 3 -1 1; seq -w 9 10", "1,3,5,7\n3\n2\n1\n09\n10\n")]
#[case("printf 'a\\nb\\nc\\n' | tail -n 2; printf 'abc' | head -c 2", "b\nc\nab")]
#[case("echo -n a; echo -e 'b\\tc'; echo -x", "ab\tc\n-x\n")]
#[case(
    "test -f /tmp/x || echo none; touch /tmp/x; [ -e /tmp/x -a ! -s /tmp/x ] && echo empty; rm -rf /tmp/x; cat /tmp/x",
    "none\nempty\n"
)]
#[case("command -v echo nosuch; type cd", "/bin/echo\ncd is a shell builtin\n")]
#[case("exec echo replaced; echo not", "replaced\n")]
#[case("echo 'a\nb' | while read line; do echo $line; done | wc -l", "2\n")]
#[case("echo \"a\\$b \\\"q\\\" c\\\\d\" e\\ f", "a$b \"q\" c\\d e f\n")]
#[case("echo start; # a comment\necho end", "start\nend\n")]
#[tokio::test]
async fn a_script_prints(#[case] script: &str, #[case] expected: &str) {
    let (_, output, errors) = sh(&machine(), script).await;
    assert_eq!(output, expected, "{script}: {errors}");
}

#[rstest]
#[case("nosuch arg", 127, "sh: nosuch: not found\n")]
#[case("cat /none", 1, "cat: can't open '/none': No such file or directory\n")]
#[case("exit 300", 44, "")]
#[case("echo $((1/0)); echo not", 2, "sh: divide by zero\n")]
#[case("set -u; echo $none", 2, "sh: none: parameter not set\n")]
#[case("echo ${none:?is missing}", 2, "sh: none: is missing\n")]
#[case("sleep soon", 1, "sleep: invalid number 'soon'\n")]
#[case("echo x > /none/f", 1, "sh: can't create /none/f: nonexistent directory\n")]
#[case("[ 1 -eq x ]", 2, "sh: x: bad number\n")]
#[tokio::test]
async fn a_failure_has_its_status_and_message(#[case] script: &str, #[case] status: i32, #[case] message: &str) {
    let (actual, _, errors) = sh(&machine(), script).await;
    assert_eq!((actual, errors.as_str()), (status, message));
}

#[tokio::test]
async fn a_program_runs_without_a_shell() {
    let (process, mut output) = Process::captured(["/bin/echo", "$HOME"]);
    assert_eq!(run(machine(), process).await, Ok(0));
    assert_eq!(output.stdout().await, "$HOME\n");
}

#[tokio::test]
async fn a_program_that_is_not_simulated_is_reported() {
    let (process, _) = Process::captured(["/bin/nginx", "-g"]);
    let error = run(machine(), process).await.unwrap_err();
    assert_eq!(
        error,
        NotFound {
            program: "/bin/nginx".to_owned()
        }
    );
    assert!(error.to_string().contains("nginx"));
}

#[tokio::test]
async fn mounted_files_are_read_and_the_termination_log_is_written() {
    let machine = machine();
    machine.files.mount("/etc/config/colour", "blue\n", true).unwrap();
    machine.files.mount("/dev/termination-log", "", false).unwrap();
    let script = "cat /etc/config/*; echo red > /etc/config/colour; echo failed > /dev/termination-log; exit 1";
    let (status, output, errors) = sh(&machine, script).await;
    assert_eq!((status, output.as_str()), (1, "blue\n"));
    assert_eq!(errors, "sh: can't create /etc/config/colour: Read-only file system\n");
    assert_eq!(machine.files.read("/dev/termination-log").unwrap(), "failed\n");
}

#[tokio::test]
async fn a_shell_runs_commands_from_its_input_line_by_line() {
    let (mut process, mut output) = Process::captured(["sh"]);
    let (input, stdin) = mpsc::channel(4);
    process.stdin = stdin.into();
    let running = tokio::spawn(run(machine(), process));
    for line in ["x=1\n", "for i in a b; do\n", "echo $i$x\n", "done\n", "exit 6\n"] {
        input.send(Bytes::from(line)).await.unwrap();
    }
    assert_eq!(running.await.unwrap(), Ok(6));
    assert_eq!(output.stdout().await, "a1\nb1\n");
}

#[tokio::test]
async fn a_trap_runs_when_its_signal_arrives() {
    let script = "trap 'echo stopping; exit 0' TERM; echo ready; tail -f /dev/null & wait";
    let (mut process, _) = Process::captured(["sh", "-c", script]);
    let (sender, signals) = mpsc::channel(1);
    let (stdout, mut output) = mpsc::channel(4);
    (process.signals, process.stdout) = (signals, stdout.into());
    let running = tokio::spawn(run(machine(), process));
    assert_eq!(output.recv().await.unwrap(), "ready\n");
    sender.send(Signal::Terminate).await.unwrap();
    assert_eq!(output.recv().await.unwrap(), "stopping\n");
    assert_eq!(running.await.unwrap(), Ok(0));
}

#[tokio::test]
async fn a_signal_ends_a_script_unless_it_is_trapped_or_ignored() {
    for (script, status) in [("read line", 143), ("trap '' TERM; echo; read line; exit 5", 5)] {
        let (mut process, _) = Process::captured(["sh", "-c", script]);
        let (sender, signals) = mpsc::channel(1);
        let (input, stdin) = mpsc::channel(1);
        let (stdout, mut output) = mpsc::channel(1);
        (process.signals, process.stdin, process.stdout) = (signals, stdin.into(), stdout.into());
        let running = tokio::spawn(run(machine(), process));
        if status == 5 {
            output.recv().await.unwrap();
        }
        sender.send(Signal::Terminate).await.unwrap();
        if status == 5 {
            // The channel holds one signal: the second send waits until the first signal is taken.
            sender.send(Signal::Terminate).await.unwrap();
            input.send(Bytes::from("on\n")).await.unwrap();
        }
        assert_eq!(running.await.unwrap(), Ok(status));
    }
}

#[tokio::test]
async fn a_shell_on_a_terminal_prompts_and_outlives_an_interrupt() {
    let (mut process, _) = Process::captured(["sh"]);
    let (sender, signals) = mpsc::channel(1);
    let (input, stdin) = mpsc::channel(1);
    let (stdout, mut output) = mpsc::channel(1);
    (process.signals, process.stdin, process.stdout) = (signals, stdin.into(), stdout.into());
    process.terminal = true;
    let running = tokio::spawn(run(machine(), process));
    assert_eq!(output.recv().await.unwrap(), "/ # ");
    input.send(Bytes::from("echo on; tail -f /dev/null\n")).await.unwrap();
    assert_eq!(output.recv().await.unwrap(), "on\n");
    sender.send(Signal::Interrupt).await.unwrap();
    assert_eq!(output.recv().await.unwrap(), "/ # ");
    input.send(Bytes::from("exit $?\n")).await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(130));
}

#[tokio::test]
async fn an_endless_loop_sleeps_between_bursts() {
    let slept = Arc::new(Mutex::new(Duration::ZERO));
    let machine = Arc::new(Machine::new("web-1", Arc::new(SkippingClock(slept.clone()))));
    let (process, _) = Process::captured(["sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"]);
    assert_eq!(run(machine, process).await, Ok(0));
    // At least three commands per iteration: the loop, its condition and its body.
    assert!(*slept.lock().await >= LIMITS.pause * 6_000 / u32::try_from(LIMITS.burst).unwrap() / 2);
}

#[rstest]
#[case("f() { f; }; f", "nest too deep")]
#[case("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", "a word is too long")]
#[case("echo $(yes)", "No space left")]
#[case("while :; do sleep 1000 & done", "can't fork")]
#[case(
    "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >> /tmp/f || exit 1; \
     set -- $(seq 9999); echo $* >> /tmp/f || exit 1; done",
    "No space left"
)]
#[case("eval $(printf '(%.0s' $(seq 5000)) :", "syntax error")]
#[tokio::test]
async fn a_script_that_exceeds_a_limit_is_stopped(#[case] script: &str, #[case] why: &str) {
    // Some of the scripts would continue: the first error message is sufficient.
    let (mut process, _) = Process::captured(["sh", "-c", script]);
    let (stderr, mut errors) = mpsc::channel(1);
    process.stderr = stderr.into();
    let running = tokio::spawn(run(machine(), process));
    let first = errors.recv().await.unwrap();
    assert!(String::from_utf8_lossy(&first).contains(why), "{first:?}");
    running.abort();
}

#[tokio::test]
async fn real_time_sleeps() {
    let machine = Arc::new(Machine::new("web-1", Arc::new(RealTime)));
    let (process, mut output) = Process::captured(["sh", "-c", "sleep 0.01; echo awake"]);
    assert_eq!(run(machine, process).await, Ok(0));
    assert_eq!(output.stdout().await, "awake\n");
}
