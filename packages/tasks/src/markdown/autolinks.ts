/*
 * Bare URLs and email addresses, as in GFM, with two differences: they are also found in text of scripts that do not separate
 * words with spaces, and they end at a quote, backtick, asterisk or bracket, which models often put around a URL.
 */

export interface Autolink {
  start: number;
  end: number;
  url: string;
  text: string;
}

/** Returns all autolinks in the text, in order. */
export function findAutolinks(text: string): readonly Autolink[] {
  const mail = text.includes("@") ? findEmails(text) : noAutolinks;
  const web = urlHint.test(text) ? findUrls(text) : noAutolinks;
  if (mail.length === 0 || web.length === 0) return mail.length === 0 ? web : mail;
  return [...mail, ...web].toSorted((a, b) => a.start - b.start);
}

const noAutolinks: readonly Autolink[] = [];
const urlHint = /:\/\/|www\./i;
const urlPattern =
  /(?<![A-Za-z0-9])(?:(?:https?|ftp):\/\/|www\.)[^\s<>"'`*[\]\u{3000}-\u{303F}\u{FF00}-\u{FF0F}\u{FF1A}-\u{FF20}\u{FDD0}-\u{FDD2}]+/giu;

function findUrls(text: string): Autolink[] {
  const autolinks: Autolink[] = [];
  for (const { 0: match, index } of text.matchAll(urlPattern)) {
    const address = trimTrailingPunctuation(match);
    const url = /^w/i.test(address) ? `http://${address}` : address;
    const end = index + address.length;
    if (address !== "") autolinks.push({ start: index, end, url, text: address });
  }
  return autolinks;
}

/** Removes punctuation and a closing parenthesis that belong to the sentence. Empty if no valid URL remains. */
function trimTrailingPunctuation(address: string): string {
  let end = address.length;
  let unopenedCount = -countOpenParentheses(address);
  for (; end > 0; end -= 1) {
    const last = address.charAt(end - 1);
    if (last === ")" && unopenedCount > 0) unopenedCount -= 1;
    else if (last === ";") end = findEntityStart(address, end - 1) + 1;
    else if (!/[.,:!?}_~$]/.test(last)) break;
  }
  const url = address.slice(0, end);
  return hasHost(url) ? url : "";
}

/** True if there is a host name without underscores in its last two labels. */
function hasHost(url: string): boolean {
  const host = /^(?:(?:https?|ftp):\/\/)?([^/?#:]+)/i.exec(url)?.[1] ?? "";
  return host !== "" && !host.split(".").slice(-2).join("").includes("_");
}

/** Returns the start of the entity that ends with this semicolon, or the position of the semicolon. */
function findEntityStart(address: string, semicolon: number): number {
  let index = semicolon;
  while (/[A-Za-z0-9]/.test(address.charAt(index - 1))) index -= 1;
  return index < semicolon && address.charAt(index - 1) === "&" ? index - 1 : semicolon;
}

function countOpenParentheses(address: string): number {
  let open = 0;
  for (const char of address) open += char === "(" ? 1 : char === ")" ? -1 : 0;
  return open;
}

function findEmails(text: string): Autolink[] {
  const autolinks: Autolink[] = [];
  let lastEnd = 0;
  for (let atSign = text.indexOf("@"); atSign !== -1; atSign = text.indexOf("@", atSign + 1)) {
    let start = atSign;
    while (start > lastEnd && localPartCharacter.test(text.charAt(start - 1))) start -= 1;
    domainPattern.lastIndex = atSign + 1;
    const host = domainPattern.exec(text)?.[0].replace(/\.+$/, "") ?? "";
    if (start === atSign || !host.includes(".") || /[-_]$/.test(host)) continue;
    const end = atSign + 1 + host.length;
    const scheme =
      precedingSchemePattern.exec(text.slice(Math.max(lastEnd, start - 7), start))?.[0] ?? "";
    resourcePattern.lastIndex = end;
    const rest = /^x/i.test(scheme) ? (resourcePattern.exec(text)?.[0] ?? "") : "";
    const address = scheme + text.slice(start, end) + rest;
    lastEnd = end + rest.length;
    const url = scheme === "" ? `mailto:${address}` : address;
    autolinks.push({ start: start - scheme.length, end: lastEnd, url, text: address });
  }
  return autolinks;
}

const localPartCharacter = /[A-Za-z0-9.+_-]/;
const domainPattern = /[A-Za-z0-9._-]+/y;
const precedingSchemePattern = /(?<![A-Za-z0-9])(?:mailto|xmpp):$/i;
const resourcePattern = /\/[A-Za-z0-9@.]+/y;
