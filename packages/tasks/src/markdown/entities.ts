/** Source of a regular expression. Its group is the name or number. */
export const entityPattern = "&([A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});";

/** Decodes an entity that `entityPattern` matched. Unknown entities are returned unchanged. */
export function decodeEntity(entity: string): string {
  return (
    (entity.startsWith("#") ? decodeNumericEntity(entity.slice(1)) : namedEntities.get(entity)) ??
    `&${entity};`
  );
}

const escapePattern = new RegExp(String.raw`\\([!-/:-@[-\x60{-~])|${entityPattern}`, "g");

/** Decodes the entities and backslash escapes of a URL, a title or an info string. */
export function unescapeText(source: string): string {
  if (!/[\\&]/.test(source)) return source;
  return source.replaceAll(escapePattern, (_, escape?: string, entity?: string) =>
    entity === undefined ? (escape ?? "") : decodeEntity(entity),
  );
}

/** Decodes a numeric entity. As in HTML, invalid code points become U+FFFD. */
function decodeNumericEntity(number: string): string {
  const code = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number(number);
  const isControl = code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d;
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  // The internal marks of citations must not be written as entities.
  if (code >= 0xfdd0 && code <= 0xfdd2) return "";
  return isControl || isSurrogate || code > 0x10ffff ? "\u{FFFD}" : String.fromCodePoint(code);
}

/** Consecutive code points and their names; `-`: no name. */
const entityRanges: readonly (readonly [first: number, names: string])[] = [
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

const singleEntities: Readonly<Record<string, string>> = {
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

/** The entities of HTML 4, and common ones of HTML 5. */
const namedEntities: ReadonlyMap<string, string> = new Map([
  ...entityRanges.flatMap(([first, names]) =>
    names
      .split(" ")
      .map((name, index): [string, string] => [name, String.fromCodePoint(first + index)]),
  ),
  ...Object.entries(singleEntities),
]);
