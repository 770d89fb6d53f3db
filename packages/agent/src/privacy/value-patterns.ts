import { jsonQuote } from "./json-view.ts";

/** Kinds of values that are detected by their format. */
export type DetectableKind = "email" | "phone" | "card" | "key" | "password" | "id";

/** A format of private values. Every loop is bounded or starts at a boundary, so that the search takes linear time. */
export interface ValuePattern {
  /** An optional group `before` matches context before the value, which is not masked. */
  readonly expression: RegExp;
  /** Returns the number of characters of a match that belong to the value; 0 if it is not a value. */
  readonly measure?: (value: string) => number;
  /** True if a value may start within another match, as in a sequence of numbers. */
  readonly overlaps?: true;
}

const letterClass = "A-Za-z\\u00C0-\\u024F";
const notInWord = "(?<![A-Za-z0-9_-])";
const notInNumber = "(?<!\\d)(?<!\\d[.,])";
const gapClass = "[ .()\\u2010-\\u2015\\u00A0/-]";
/** Quotes in text, and the marker of `json-view.ts` for those of JSON. */
const quoteClass = `["'\`${jsonQuote}]`;
const passwordWord = `(?:password|passwort|passwd|passcode|passphrase|pwd|(?<![A-Za-z])(?:pass(?==)|pw(?=${quoteClass}?\\s{0,2}[:=]))|密码|密碼|口令|パスワード|비밀번호)`;
const assignmentPattern = `${quoteClass}?\\s{0,3}(?:[:=]{1,2}|\\bis\\b|是|为|為|は)\\s{0,3}[:=]?\\s{0,2}`;

export const valuePatterns: Readonly<Record<DetectableKind, readonly ValuePattern[]>> = {
  email: [
    {
      expression: new RegExp(
        `(?<![${letterClass}0-9._+-])(?<!://[^\\s/@:]{0,64}:)[${letterClass}0-9_+-][${letterClass}0-9._+-]{0,80}@(?:[${letterClass}0-9][${letterClass}0-9-]{0,62}\\.){1,8}[${letterClass}]{2,24}`,
        "g",
      ),
    },
  ],
  phone: [
    // +86 138 1234 5678, 0086-13812345678, 138-1234-5678
    {
      expression: new RegExp(
        `(?:(?<![\\w+])(?:\\+|00)86${gapClass}{0,2}|${notInNumber}(?:86[ -]?)?)1[3-9]\\d[ -]?\\d{4}[ -]?\\d{4}(?!\\d)`,
        "g",
      ),
    },
    // +1 (415) 555-0123, 415.555.0123, 1-415-555-0123
    {
      expression: new RegExp(
        `(?:(?<![\\w+])(?:\\+|00)1${gapClass}{0,2}|${notInNumber}(?:1[ .-])?(?=\\(|\\d{3}[ .-]))(?:\\([2-9]\\d{2}\\)${gapClass}?|[2-9]\\d{2}${gapClass}?)[2-9]\\d{2}${gapClass}?\\d{4}(?!\\d)`,
        "g",
      ),
    },
    // +44 20 7946 0958, 0049 (0)30 901820
    {
      expression: new RegExp(`(?<![\\w+])(?:\\+|00)[2-9](?:${gapClass}{0,2}\\d){7,14}(?!\\d)`, "g"),
      measure: createDigitMeasure(8, 15),
    },
    // 010-62345678, 020 7946 0958, 0800-555-1234
    {
      expression: new RegExp(
        `${notInNumber}(?<!\\d-)(?:\\(0\\d{1,4}\\) ?|0\\d{1,4}[ /-])\\d{3,8}(?:[ -]\\d{2,5}){0,3}(?!\\d)`,
        "g",
      ),
      measure: createDigitMeasure(9, 13),
    },
  ],
  card: [
    {
      expression: /(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)/g,
      measure: measureCardNumber,
      overlaps: true,
    },
  ],
  key: [
    {
      expression: new RegExp(
        `${notInWord}(?:sk-|sk_|rk_|pk_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|hf_|npm_|pypi-|dop_v1_|shpat_|whsec_)[A-Za-z0-9_-]{12,500}`,
        "g",
      ),
      measure: measureIfRandom,
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
    // A PEM block, even one without its end, in truncated text.
    {
      expression:
        /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){1,20000}-----END [A-Z0-9 ]{0,60}-----|[A-Za-z0-9+/=\s]{1,20000})/g,
    },
    {
      expression: new RegExp(
        `(?<before>(?:key|token|secret|credentials?|authorization|signature)${assignmentPattern}${quoteClass}?(?:(?:bearer|basic)\\s)?|\\bbearer\\s)[A-Za-z0-9+/_.~-]{16,2000}={0,2}`,
        "gi",
      ),
      measure: measureIfRandom,
    },
  ],
  password: [
    {
      expression: new RegExp(
        `(?<before>${passwordWord}${assignmentPattern}(?<quote>${quoteClass}))(?!\\{\\{)(?:(?!\\k<quote>)[^\\n\\uFFFC]){3,128}(?=\\k<quote>)`,
        "gi",
      ),
      measure: measurePassword,
    },
    {
      expression: new RegExp(
        `(?<before>${passwordWord}${assignmentPattern})(?!\\{\\{)[^\\s"'\`${jsonQuote},;<>\\u3000-\\u303F\\u3040-\\u30FF\\u4E00-\\u9FFF\\uFFFC]{3,128}`,
        "gi",
      ),
      measure: measurePassword,
    },
    // postgres://user:secret@host
    { expression: /(?<before>:\/\/[^\s/:@]{0,64}:)[^\s/@\uFFFC]{1,128}(?=@)/g },
  ],
  id: [
    {
      expression:
        /(?<!\d)[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])/g,
      measure: measureChineseId,
    },
    // A US social security number never begins with 000, 666 or 9.
    {
      expression:
        /(?<![\d-])(?!000|666|9)\d{3}(?<gap>[ -])(?!00)\d{2}\k<gap>(?!0000)\d{4}(?![\d-])/g,
    },
  ],
};

/** Returns a function that measures up to the last group of digits with which the total is between `min` and `max`. */
function createDigitMeasure(min: number, max: number): (value: string) => number {
  return (value) => {
    let digits = 0;
    let length = 0;
    for (const { 0: group, index } of value.matchAll(/\d+/g)) {
      digits += group.length;
      if (digits >= min && digits <= max) length = index + group.length;
    }
    return length;
  };
}

/** Returns the length of the longest prefix that is a valid card number (Luhn check) and not followed by a digit. */
function measureCardNumber(value: string): number {
  const digits: number[] = [];
  const ends: number[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const digit = value.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) continue;
    digits.push(digit);
    ends.push(index + 1);
  }
  for (let count = digits.length; count >= 13; count -= 1) {
    const end = ends[count - 1] ?? 0;
    // A digit directly after the number means that the number is longer.
    if (ends[count] !== end + 1 && isLuhnValid(digits, count)) return end;
  }
  return 0;
}

function isLuhnValid(digits: readonly number[], count: number): boolean {
  let sum = 0;
  for (let index = count - 1, isDoubled = false; index >= 0; index -= 1, isDoubled = !isDoubled) {
    const digit = digits[index] ?? 0;
    const counted = isDoubled ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

/** Returns 0 for examples from documentation, which consist of words: `your-api-key-goes-here`. */
function measureIfRandom(value: string): number {
  if (/^[./]|^https?:|\.(?:com|ts|js|py|json)$/i.test(value)) return 0;
  const isMixedCase = /[a-z]/.test(value) && /[A-Z]/.test(value) && !/[._-]/.test(value);
  return /\d/.test(value) || (isMixedCase && value.length >= 24) ? value.length : 0;
}

/** Words after "password is" that are not a password. */
const nonPasswordWords = new Set(
  "not the too was has had and are for this that there wrong incorrect correct empty invalid valid missing required optional needed necessary string str null none nil undefined true false text hidden redacted changed reset expired stored hashed encrypted protected managed unknown same your here must should will cannot field value input about forgotten unchanged secure weak strong kept saved sent given set used shown asked never always also only now just still already being been".split(
    " ",
  ),
);

function measurePassword(value: string): number {
  if (nonPasswordWords.has(value.toLowerCase().replace(/[^a-z]+$/, ""))) return 0;
  if (/^(?:process\.|os\.|env\.|config\.|\$\{|\$[A-Z_]+$|[*•.…]+$)/i.test(value)) return 0;
  const nextParameter = value.search(/&[\w-]{1,40}=/);
  const passwordText = nextParameter > 0 ? value.slice(0, nextParameter) : value;
  return passwordText.replace(/[.)\]}]+$/, "").length;
}

const idWeights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];

function measureChineseId(value: string): number {
  const sum = idWeights.reduce((total, weight, index) => total + weight * Number(value[index]), 0);
  return "10X98765432"[sum % 11] === value[17]?.toUpperCase() ? value.length : 0;
}
