// Times: ranges as the query language writes them (`now-15m`), what they mean at a given time, and how they are shown. All times are UTC.

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const QUICK = [
  ["Last 5 minutes", "now-5m", "now"],
  ["Last 15 minutes", "now-15m", "now"],
  ["Last 1 hour", "now-1h", "now"],
  ["Last 4 hours", "now-4h", "now"],
  ["Last 24 hours", "now-24h", "now"],
  ["Last 7 days", "now-7d", "now"],
  ["Last 30 days", "now-30d", "now"],
  ["Today", "now/d", "now/d"],
  ["This week", "now/w", "now/w"],
  ["This month", "now/M", "now/M"],
  ["Last 1 year", "now-1y", "now"],
  ["Last 5 years", "now-5y", "now"],
];

export const isRelative = (expression) => String(expression).startsWith("now");

/** The time that an expression means; `up` rounds to the end of a unit instead of its beginning. */
export function resolve(expression, now, up = false) {
  if (!isRelative(expression)) {
    const number = Number(expression);
    return Number.isFinite(number) && String(expression).trim() !== "" ? number : Date.parse(expression);
  }
  let time = new Date(now);
  for (const [, sign, amount, unit] of expression.slice(3).matchAll(/([+\-/])(\d*)([smhdwMy])/g)) {
    time = sign === "/" ? round(time, unit, up) : add(time, unit, Number(amount || 1) * (sign === "-" ? -1 : 1));
  }
  return time.getTime();
}

function add(time, unit, amount) {
  const moved = new Date(time);
  if (unit === "M") moved.setUTCMonth(moved.getUTCMonth() + amount);
  else if (unit === "y") moved.setUTCFullYear(moved.getUTCFullYear() + amount);
  else return new Date(time.getTime() + amount * UNITS[unit]);
  return moved;
}

function round(time, unit, up) {
  let start;
  if (unit === "M") start = new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth()));
  else if (unit === "y") start = new Date(Date.UTC(time.getUTCFullYear(), 0));
  else if (unit === "w") {
    const day = new Date(Math.floor(time.getTime() / UNITS.d) * UNITS.d);
    start = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * UNITS.d);
  } else start = new Date(Math.floor(time.getTime() / UNITS[unit]) * UNITS[unit]);
  return up ? new Date(add(start, unit, 1).getTime() - 1) : start;
}

/** Whether an expression can be resolved. */
export const isValid = (expression) => Number.isFinite(resolve(expression, Date.now()));

const INTERVALS = [
  ["1s", 1000], ["5s", 5000], ["10s", 10_000], ["30s", 30_000], ["1m", 60_000], ["5m", 300_000], ["10m", 600_000], ["30m", 1_800_000],
  ["1h", 3_600_000], ["3h", 10_800_000], ["12h", 43_200_000], ["1d", 86_400_000], ["7d", 604_800_000], ["30d", 2_592_000_000],
];

/** The interval of a histogram of this many milliseconds: about 60 bars. */
export function interval(span) {
  const [name, length] = INTERVALS.find(([, length]) => span / length <= 70) ?? INTERVALS.at(-1);
  return { name, length };
}

const two = (number) => String(number).padStart(2, "0");

/** `2016-03-01 12:30:45.250` */
export function full(time) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return String(time ?? "");
  return `${at.toISOString().slice(0, 10)} ${at.toISOString().slice(11, 23)}`;
}

/** `12:30:45`, or with the day if the range is longer than one. */
export function short(time, span) {
  const at = new Date(time);
  const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  if (span < 600_000) return `${clock}:${two(at.getUTCSeconds())}`;
  if (span <= UNITS.d * 1.5) return clock;
  const day = at.toISOString().slice(5, 10);
  return span < 10 * UNITS.d ? `${day} ${clock}` : at.toISOString().slice(0, 10);
}

/** How a range is called: `Last 15 minutes`, or its two ends. */
export function label(from, to) {
  const quick = QUICK.find(([, f, t]) => f === from && t === to);
  if (quick) return quick[0];
  const one = (expression) => (isRelative(expression) ? expression : full(resolve(expression, 0)).replace(/\.000$/, ""));
  return `${one(from)} to ${one(to)}`;
}

/** A time as `datetime-local` inputs have it. */
export const toInput = (time) => new Date(time).toISOString().slice(0, 19);
export const fromInput = (text) => Date.parse(`${text}Z`);
