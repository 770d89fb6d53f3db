import { jsonQuote } from "./json-view.ts";

/** The kinds that are found by what they look like. */
export type FoundKind = "email" | "phone" | "card" | "key" | "password" | "id";

/** What private values look like. Every loop is bounded or begins at an edge, so that no text is walked through twice. */
export interface ValuePattern {
  /** The group `before`, if it has one, stands before the value and stays. */
  readonly expression: RegExp;
  /** How much of what looks like a value is one; 0: nothing. */
  readonly length?: (value: string) => number;
  /** One may begin within what looks like another, as where numbers stand in a row. */
  readonly overlaps?: true;
}

const letter = "A-Za-z\\u00C0-\\u024F";
const notInWord = "(?<![A-Za-z0-9_-])";
const notInNumber = "(?<!\\d)(?<!\\d[.,])";
const gap = "[ .()\\u2010-\\u2015\\u00A0/-]";
/** Of a text, or of JSON as `json-view.ts` marks it. */
const quote = `["'\`${jsonQuote}]`;
const passwordWord = `(?:password|passwort|passwd|passcode|passphrase|pwd|(?<![A-Za-z])(?:pass(?==)|pw(?=${quote}?\\s{0,2}[:=]))|密码|密碼|口令|パスワード|비밀번호)`;
const says = `${quote}?\\s{0,3}(?:[:=]{1,2}|\\bis\\b|是|为|為|は)\\s{0,3}[:=]?\\s{0,2}`;

export const valuePatterns: Readonly<Record<FoundKind, readonly ValuePattern[]>> = {
  email: [
    {
      expression: new RegExp(
        `(?<![${letter}0-9._+-])(?<!://[^\\s/@:]{0,64}:)[${letter}0-9_+-][${letter}0-9._+-]{0,80}@(?:[${letter}0-9][${letter}0-9-]{0,62}\\.){1,8}[${letter}]{2,24}`,
        "g",
      ),
    },
  ],
  phone: [
    // +86 138 1234 5678, 0086-13812345678, 138-1234-5678
    {
      expression: new RegExp(
        `(?:(?<![\\w+])(?:\\+|00)86${gap}{0,2}|${notInNumber}(?:86[ -]?)?)1[3-9]\\d[ -]?\\d{4}[ -]?\\d{4}(?!\\d)`,
        "g",
      ),
    },
    // +1 (415) 555-0123, 415.555.0123, 1-415-555-0123
    {
      expression: new RegExp(
        `(?:(?<![\\w+])(?:\\+|00)1${gap}{0,2}|${notInNumber}(?:1[ .-])?(?=\\(|\\d{3}[ .-]))(?:\\([2-9]\\d{2}\\)${gap}?|[2-9]\\d{2}${gap}?)[2-9]\\d{2}${gap}?\\d{4}(?!\\d)`,
        "g",
      ),
    },
    // +44 20 7946 0958, 0049 (0)30 901820
    {
      expression: new RegExp(`(?<![\\w+])(?:\\+|00)[2-9](?:${gap}{0,2}\\d){7,14}(?!\\d)`, "g"),
      length: digitsBetween(8, 15),
    },
    // 010-62345678, 020 7946 0958, 0800-555-1234
    {
      expression: new RegExp(
        `${notInNumber}(?<!\\d-)(?:\\(0\\d{1,4}\\) ?|0\\d{1,4}[ /-])\\d{3,8}(?:[ -]\\d{2,5}){0,3}(?!\\d)`,
        "g",
      ),
      length: digitsBetween(9, 13),
    },
  ],
  card: [
    { expression: /(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)/g, length: cardLength, overlaps: true },
  ],
  key: [
    {
      expression: new RegExp(
        `${notInWord}(?:sk-|sk_|rk_|pk_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|hf_|npm_|pypi-|dop_v1_|shpat_|whsec_)[A-Za-z0-9_-]{12,500}`,
        "g",
      ),
      length: ifRandom,
    },
    { expression: new RegExp(`${notInWord}A(?:KIA|SIA|IDA|ROA)[A-Z0-9]{16}(?![A-Za-z0-9])`, "g") },
    { expression: new RegExp(`${notInWord}(?:AIza|SG\\.|ya29\\.)[A-Za-z0-9_.-]{20,500}`, "g") },
    // A JSON Web Token
    {
      expression: new RegExp(
        `${notInWord}eyJ[A-Za-z0-9_-]{8,4000}\\.[A-Za-z0-9_-]{4,8000}(?:\\.[A-Za-z0-9_-]{0,4000})?`,
        "g",
      ),
    },
    // A PEM block to its end, or as far as it goes where a text was cut.
    {
      expression:
        /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){1,20000}-----END [A-Z0-9 ]{0,60}-----|[A-Za-z0-9+/=\s]{1,20000})/g,
    },
    {
      expression: new RegExp(
        `(?<before>(?:key|token|secret|credentials?|authorization|signature)${says}${quote}?(?:(?:bearer|basic)\\s)?|\\bbearer\\s)[A-Za-z0-9+/_.~-]{16,2000}={0,2}`,
        "gi",
      ),
      length: ifRandom,
    },
  ],
  password: [
    {
      expression: new RegExp(
        `(?<before>${passwordWord}${says}(?<quote>${quote}))(?!\\{\\{)(?:(?!\\k<quote>)[^\\n\\uFFFC]){3,128}(?=\\k<quote>)`,
        "gi",
      ),
      length: ifPassword,
    },
    {
      expression: new RegExp(
        `(?<before>${passwordWord}${says})(?!\\{\\{)[^\\s"'\`${jsonQuote},;<>\\u3000-\\u303F\\u3040-\\u30FF\\u4E00-\\u9FFF\\uFFFC]{3,128}`,
        "gi",
      ),
      length: ifPassword,
    },
    // postgres://user:secret@host
    { expression: /(?<before>:\/\/[^\s/:@]{0,64}:)[^\s/@\uFFFC]{1,128}(?=@)/g },
  ],
  id: [
    {
      expression:
        /(?<!\d)[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])/g,
      length: ifChineseId,
    },
    // A US social security number never begins with 000, 666 or 9.
    {
      expression:
        /(?<![\d-])(?!000|666|9)\d{3}(?<gap>[ -])(?!00)\d{2}\k<gap>(?!0000)\d{4}(?![\d-])/g,
    },
  ],
};

/** Up to the last group of digits with which it has as many as such a number may have. */
function digitsBetween(least: number, most: number): (value: string) => number {
  return (value) => {
    let digits = 0;
    let length = 0;
    for (const { 0: group, index } of value.matchAll(/\d+/g)) {
      digits += group.length;
      if (digits >= least && digits <= most) length = index + group.length;
    }
    return length;
  };
}

/** The longest beginning that has the digits of a card and a right check digit, and that no digit follows. */
function cardLength(value: string): number {
  const digits: number[] = [];
  const ends: number[] = [];
  for (let at = 0; at < value.length; at += 1) {
    const digit = value.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) continue;
    digits.push(digit);
    ends.push(at + 1);
  }
  for (let count = digits.length; count >= 13; count -= 1) {
    const end = ends[count - 1] ?? 0;
    // The next digit must not follow at once.
    if (ends[count] !== end + 1 && hasRightCheckDigit(digits, count)) return end;
  }
  return 0;
}

function hasRightCheckDigit(digits: readonly number[], count: number): boolean {
  let sum = 0;
  for (let at = count - 1, doubled = false; at >= 0; at -= 1, doubled = !doubled) {
    const digit = digits[at] ?? 0;
    const counted = doubled ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

/** An example in a manual has words: `your-api-key-goes-here`. */
function ifRandom(value: string): number {
  if (/^[./]|^https?:|\.(?:com|ts|js|py|json)$/i.test(value)) return 0;
  const mixed = /[a-z]/.test(value) && /[A-Z]/.test(value) && !/[._-]/.test(value);
  return /\d/.test(value) || (mixed && value.length >= 24) ? value.length : 0;
}

/** What follows the word where nobody tells a password. */
const ordinaryWords = new Set(
  "not the too was has had and are for this that there wrong incorrect correct empty invalid valid missing required optional needed necessary string str null none nil undefined true false text hidden redacted changed reset expired stored hashed encrypted protected managed unknown same your here must should will cannot field value input about forgotten unchanged secure weak strong kept saved sent given set used shown asked never always also only now just still already being been".split(
    " ",
  ),
);

function ifPassword(value: string): number {
  if (ordinaryWords.has(value.toLowerCase().replace(/[^a-z]+$/, ""))) return 0;
  if (/^(?:process\.|os\.|env\.|config\.|\$\{|\$[A-Z_]+$|[*•.…]+$)/i.test(value)) return 0;
  const next = value.search(/&[\w-]{1,40}=/);
  const own = next > 0 ? value.slice(0, next) : value;
  return own.replace(/[.)\]}]+$/, "").length;
}

const idWeights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];

function ifChineseId(value: string): number {
  const sum = idWeights.reduce((total, weight, at) => total + weight * Number(value[at]), 0);
  return "10X98765432"[sum % 11] === value[17]?.toUpperCase() ? value.length : 0;
}
