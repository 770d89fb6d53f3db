/** As a piece of a regular expression; its group is the name or number. */
export const entityForm = "&([A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});";

/** What an entity that `entityForm` has found stands for; one that nobody knows is the text that it is. */
export function textOfEntity(entity: string): string {
  return (entity.startsWith("#") ? numbered(entity.slice(1)) : named.get(entity)) ?? `&${entity};`;
}

const escapes = new RegExp(String.raw`\\([!-/:-@[-\x60{-~])|${entityForm}`, "g");

/** The text of an address, a title or a word behind a fence: with entities and escaped characters as what they stand for. */
export function unescapedText(written: string): string {
  if (!/[\\&]/.test(written)) return written;
  return written.replaceAll(escapes, (_, escape?: string, entity?: string) =>
    entity === undefined ? (escape ?? "") : textOfEntity(entity),
  );
}

/** As in HTML, a number that is no character is shown as U+FFFD. */
function numbered(number: string): string {
  const code = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number(number);
  const isControl = code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d;
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  // Our own marks for citations are in no text.
  if (code >= 0xfdd0 && code <= 0xfdd2) return "";
  return isControl || isSurrogate || code > 0x10ffff ? "\u{FFFD}" : String.fromCodePoint(code);
}

/** A range of characters, and the names of all in it; `-` has none. */
const ranges: readonly (readonly [first: number, names: string])[] = [
  [
    0xa0,
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml",
  ],
  [
    0x391,
    "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi Psi Omega",
  ],
  [
    0x3b1,
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi omega",
  ],
  [0x2190, "larr uarr rarr darr harr"],
  [0x21d0, "lArr uArr rArr dArr hArr"],
];

const single: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  AMP: "&",
  LT: "<",
  GT: ">",
  QUOT: '"',
  Tab: "\t",
  NewLine: "\n",
  excl: "!",
  num: "#",
  dollar: "$",
  percnt: "%",
  lpar: "(",
  rpar: ")",
  ast: "*",
  plus: "+",
  comma: ",",
  period: ".",
  sol: "/",
  colon: ":",
  semi: ";",
  equals: "=",
  quest: "?",
  commat: "@",
  lbrack: "[",
  lsqb: "[",
  bsol: "\\",
  rbrack: "]",
  rsqb: "]",
  Hat: "^",
  lowbar: "_",
  grave: "`",
  lbrace: "{",
  lcub: "{",
  vert: "|",
  verbar: "|",
  rbrace: "}",
  rcub: "}",
  OElig: "Œ",
  oelig: "œ",
  Scaron: "Š",
  scaron: "š",
  Yuml: "Ÿ",
  fnof: "ƒ",
  circ: "ˆ",
  tilde: "˜",
  thetasym: "ϑ",
  upsih: "ϒ",
  piv: "ϖ",
  ensp: "\u{2002}",
  emsp: "\u{2003}",
  thinsp: "\u{2009}",
  zwnj: "\u{200C}",
  zwj: "\u{200D}",
  lrm: "\u{200E}",
  rlm: "\u{200F}",
  ndash: "–",
  mdash: "—",
  lsquo: "‘",
  rsquo: "’",
  sbquo: "‚",
  ldquo: "“",
  rdquo: "”",
  bdquo: "„",
  dagger: "†",
  Dagger: "‡",
  bull: "•",
  hellip: "…",
  permil: "‰",
  prime: "′",
  Prime: "″",
  lsaquo: "‹",
  rsaquo: "›",
  oline: "‾",
  frasl: "⁄",
  euro: "€",
  image: "ℑ",
  weierp: "℘",
  real: "ℜ",
  trade: "™",
  alefsym: "ℵ",
  crarr: "↵",
  check: "✓",
  cross: "✗",
  star: "☆",
  starf: "★",
  phone: "☎",
  forall: "∀",
  part: "∂",
  exist: "∃",
  empty: "∅",
  nabla: "∇",
  isin: "∈",
  notin: "∉",
  ni: "∋",
  prod: "∏",
  sum: "∑",
  minus: "−",
  lowast: "∗",
  radic: "√",
  prop: "∝",
  infin: "∞",
  ang: "∠",
  and: "∧",
  or: "∨",
  cap: "∩",
  cup: "∪",
  int: "∫",
  there4: "∴",
  sim: "∼",
  cong: "≅",
  asymp: "≈",
  ne: "≠",
  equiv: "≡",
  le: "≤",
  ge: "≥",
  sub: "⊂",
  sup: "⊃",
  nsub: "⊄",
  sube: "⊆",
  supe: "⊇",
  oplus: "⊕",
  otimes: "⊗",
  perp: "⊥",
  sdot: "⋅",
  lceil: "⌈",
  rceil: "⌉",
  lfloor: "⌊",
  rfloor: "⌋",
  lang: "⟨",
  rang: "⟩",
  loz: "◊",
  spades: "♠",
  clubs: "♣",
  hearts: "♥",
  diams: "♦",
};

/** Those of HTML 4, and of HTML 5 those that are met in texts. */
const named: ReadonlyMap<string, string> = new Map([
  ...ranges.flatMap(([first, names]) =>
    names.split(" ").map((name, at): [string, string] => [name, String.fromCodePoint(first + at)]),
  ),
  ...Object.entries(single),
]);
