/** Names the list of `readOnlyCommands` among the entries of an allow-list. */
const readOnlyList = "@read-only";

/**
 * True if a command is on an allow-list, so that nobody has to be asked. Only a simple command can be: words of letters,
 * digits and a few signs that mean nothing to any shell, with one blank between them. What is quoted, expanded, joined or
 * redirected is always asked about, because a pattern cannot know what it would do.
 *
 * `git status` allows just that, `git status*` also with plain words after it (but not `git statusx`), `npm run test:*`
 * every name that begins so, and a `*` before the end stands for the rest of one word. What a `*` stands for is never an
 * option, nor a path out of the folder, but may be the value of an option that the entry names: `--since=*`. `isInFolder`
 * returns whether a word that may be a path leads to a file that the command may read.
 */
export function isAllowedCommand(
  command: string,
  entries: readonly string[],
  isInFolder: (word: string) => boolean = () => true,
): boolean {
  if (command.length > 1000 || !simpleCommand.test(command)) return false;
  const words = command.split(" ");
  const isPlain = (word: string): boolean => isPlainWord(word) && isInFolder(word);
  return entries.some((entry) => {
    if (entry.trim() === readOnlyList) return isReadOnly(words, isPlain);
    return entry.includes("*") ? matches(words, entry, isPlain) : command === entry.trim();
  });
}

/** What is wrong with an entry of an allow-list, in words that follow it; undefined: nothing. */
export function allowEntryProblem(entry: string): string | undefined {
  const trimmed = entry.trim();
  if (trimmed.startsWith("@"))
    return trimmed === readOnlyList
      ? undefined
      : `is not a list of commands; the only one is "${readOnlyList}"`;
  if (!trimmed.includes("*"))
    return simpleCommand.test(trimmed)
      ? undefined
      : "never matches: only a simple command can be allowed, without quotes, variables, pipes or redirections";
  const [program = "", second] = trimmed.split(" ");
  const stem = program.replace(/\*$/, "");
  if (stem === "" || stem.includes("*"))
    return `would run any command without a question; name single commands, or use "${readOnlyList}"`;
  if (!simpleCommand.test(trimmed.replaceAll("*", "x")))
    return "never matches: only a simple command can be allowed, without quotes, variables, pipes or redirections";
  const name = stem.slice(stem.lastIndexOf("/") + 1);
  if (runsOthers.has(name) || runsOthers.has(name.replace(/[\d.]+$/, "")))
    return `would run whatever ${stem} is given without a question; write the complete command, without *`;
  const options = trimmed
    .replace(/\w\*$/, "")
    .split(" ")
    .filter((word) => word.startsWith("-"));
  if (options.some((word) => /^[^=]*\*/.test(word)))
    return "would allow any option: a * may stand for the value of one option, as in --since=*, or for words at the end";
  // An option before the subcommand leaves the subcommand open.
  const isOpen = program !== stem || second === "*" || second?.startsWith("-") === true;
  if (isOpen && !readOnlyCommands.has(stem))
    return `would run any command of ${stem} without a question; write the command with its first words, as in "git status*", or use "${readOnlyList}"`;
  return undefined;
}

// Neither `~`, which is a home folder, nor `=` in the first word, where it sets a variable.
const simpleCommand = /^[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*$/;

/** Programs that run or interpret what they are given, so that no rest of their words is harmless. */
const runsOthers = new Set(
  "sh bash dash zsh ksh fish busybox node deno bun python pypy perl ruby php lua awk gawk mawk sed env xargs command builtin exec eval source . sudo doas su nohup nice ionice setsid timeout time watch parallel ssh find fd make npx pnpx bunx uvx docker podman".split(
    " ",
  ),
);

interface CommandRule {
  /** Options that only change what is printed. Every other option is asked about. */
  readonly options?: RegExp;
  /** False: it takes no other words. With one, `git branch` would make a branch. */
  readonly operands?: false;
}

const diffOptions =
  /^(?:--|-[pwb]|-U\d{1,3}|--stat|--shortstat|--numstat|--name-only|--name-status|--no-color)$/;

/**
 * Commands that print what is in the folder and change nothing, with the options that keep it so. None of these options
 * names a file to read or write, a program to run, or follows links out of the folder.
 */
const readOnlyCommands: ReadonlyMap<string, CommandRule> = new Map<string, CommandRule>([
  ["pwd", { operands: false }],
  ["ls", { options: /^-[1AaFhlrSst]+$/ }],
  ["cat", { options: /^-[AbEensTtv]+$/ }],
  ["head", { options: /^-(?:[nc]|[nc]?\d{1,9})$/ }],
  ["tail", { options: /^-(?:[nc]|[nc]?\d{1,9})$/ }],
  ["wc", { options: /^-[clmw]+$/ }],
  ["grep", { options: /^(?:-[cEFHhiLlnosvwx]+|-[ABC]\d{1,3})$/ }],
  ["git status", { options: /^(?:-[sb]+|--short|--branch|--porcelain(?:=v[12])?)$/ }],
  ["git diff", { options: new RegExp(`${diffOptions.source}|^--(?:staged|cached)$`) }],
  [
    "git log",
    {
      options: new RegExp(
        `${diffOptions.source}|^(?:-\\d{1,5}|-n|--oneline|--graph|--decorate|--all|--reverse)$`,
      ),
    },
  ],
  ["git show", { options: new RegExp(`${diffOptions.source}|^--oneline$`) }],
  ["git blame", { options: /^(?:--|-w)$/ }],
  ["git ls-files", { options: /^--$/ }],
  ["git branch", { options: /^(?:-[arv]|-vv|--list|--all|--show-current)$/, operands: false }],
]);

/** True for `git status`, `git diff` and the others of `@read-only`, with whatever words after it. */
export function isReadOnlyGit(command: string): boolean {
  const [program, subcommand = ""] = command.split(" ");
  return program === "git" && readOnlyCommands.has(`git ${subcommand}`);
}

function isReadOnly(words: readonly string[], isPlain: (word: string) => boolean): boolean {
  const length = words[0] === "git" ? 2 : 1;
  const rule = readOnlyCommands.get(words.slice(0, length).join(" "));
  if (rule === undefined) return false;
  return words.slice(length).every((word) => {
    if (word.startsWith("-")) return rule.options?.test(word) === true;
    return rule.operands !== false && isPlain(word);
  });
}

/** Neither an option nor a path that leads out of the folder by its letters. */
function isPlainWord(word: string): boolean {
  if (word.startsWith("-")) return false;
  return word
    .split(/[=:,]/)
    .every((part) => !part.startsWith("/") && !part.split("/").includes(".."));
}

function matches(
  words: readonly string[],
  entry: string,
  isPlain: (word: string) => boolean,
): boolean {
  const wanted = entry.trim().split(" ");
  const last = wanted.at(-1) ?? "";
  const isOpen = last.endsWith("*");
  if (words.length < wanted.length || (words.length > wanted.length && !isOpen)) return false;
  return words.every((word, index) => {
    const pattern = wanted[index];
    if (pattern === undefined) return isPlain(word);
    // `git status*` is `git status` and more words, not another word that begins so.
    const isWord = isOpen && index === wanted.length - 1 && /\w\*$/.test(pattern);
    const own = isWord ? pattern.slice(0, -1) : pattern;
    if (!own.includes("*")) return word === own;
    return wordPattern(own).test(word) && isPlain(valueOf(word, own));
  });
}

/** Of an option that the entry names, what it is set to; else the word itself. */
function valueOf(word: string, pattern: string): string {
  return /^-[^*]*=/.test(pattern) ? word.slice(word.indexOf("=") + 1) : word;
}

function wordPattern(pattern: string): RegExp {
  const pieces = pattern.split("*").map((piece) => piece.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${pieces.join("[^ ]*")}$`);
}
