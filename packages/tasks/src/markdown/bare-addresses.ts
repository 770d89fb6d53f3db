/*
 * Addresses that nobody has put between brackets, as GFM finds them. Further in words of scripts without blanks, and only up
 * to a quote, a backtick, a star or a bracket, which in what models write mostly stand around an address.
 */

export interface Address {
  start: number;
  end: number;
  url: string;
  text: string;
}

/** All of a text, in order. */
export function findAddresses(text: string): readonly Address[] {
  const mail = text.includes("@") ? findMail(text) : none;
  const web = hasWeb.test(text) ? findWeb(text) : none;
  if (mail.length === 0 || web.length === 0) return mail.length === 0 ? web : mail;
  return [...mail, ...web].toSorted((one, other) => one.start - other.start);
}

const none: readonly Address[] = [];
const hasWeb = /:\/\/|www\./i;
const webForm =
  /(?<![A-Za-z0-9])(?:(?:https?|ftp):\/\/|www\.)[^\s<>"'`*[\]\u{3000}-\u{303F}\u{FF00}-\u{FF0F}\u{FF1A}-\u{FF20}\u{FDD0}-\u{FDD2}]+/giu;

function findWeb(text: string): Address[] {
  const found: Address[] = [];
  for (const { 0: whole, index } of text.matchAll(webForm)) {
    const address = withoutEnd(whole);
    const url = /^w/i.test(address) ? `http://${address}` : address;
    const end = index + address.length;
    if (address !== "") found.push({ start: index, end, url, text: address });
  }
  return found;
}

/** Punctuation behind an address is the sentence's, and so is a bracket that was opened before it. Empty: it is none. */
function withoutEnd(address: string): string {
  let end = address.length;
  let unopened = -balance(address);
  for (; end > 0; end -= 1) {
    const last = address.charAt(end - 1);
    if (last === ")" && unopened > 0) unopened -= 1;
    else if (last === ";") end = entityStart(address, end - 1) + 1;
    else if (!/[.,:!?}_~$]/.test(last)) break;
  }
  const url = address.slice(0, end);
  return hasHost(url) ? url : "";
}

/** No underscore is in the last two parts of its name. */
function hasHost(url: string): boolean {
  const host = /^(?:(?:https?|ftp):\/\/)?([^/?#:]+)/i.exec(url)?.[1] ?? "";
  return host !== "" && !host.split(".").slice(-2).join("").includes("_");
}

/** Where an entity begins that a semicolon ends, else the semicolon. */
function entityStart(address: string, semicolon: number): number {
  let at = semicolon;
  while (/[A-Za-z0-9]/.test(address.charAt(at - 1))) at -= 1;
  return at < semicolon && address.charAt(at - 1) === "&" ? at - 1 : semicolon;
}

function balance(address: string): number {
  let open = 0;
  for (const one of address) open += one === "(" ? 1 : one === ")" ? -1 : 0;
  return open;
}

function findMail(text: string): Address[] {
  const found: Address[] = [];
  let last = 0;
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    let start = at;
    while (start > last && localPart.test(text.charAt(start - 1))) start -= 1;
    domain.lastIndex = at + 1;
    const host = domain.exec(text)?.[0].replace(/\.+$/, "") ?? "";
    if (start === at || !host.includes(".") || /[-_]$/.test(host)) continue;
    const end = at + 1 + host.length;
    const scheme = schemeBefore.exec(text.slice(Math.max(last, start - 7), start))?.[0] ?? "";
    resource.lastIndex = end;
    const rest = /^x/i.test(scheme) ? (resource.exec(text)?.[0] ?? "") : "";
    const address = scheme + text.slice(start, end) + rest;
    last = end + rest.length;
    const url = scheme === "" ? `mailto:${address}` : address;
    found.push({ start: start - scheme.length, end: last, url, text: address });
  }
  return found;
}

const localPart = /[A-Za-z0-9.+_-]/;
const domain = /[A-Za-z0-9._-]+/y;
const schemeBefore = /(?<![A-Za-z0-9])(?:mailto|xmpp):$/i;
const resource = /\/[A-Za-z0-9@.]+/y;
