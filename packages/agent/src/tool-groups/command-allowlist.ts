/** The allow-list entry that stands for `readOnlyCommands`. */
const readOnlyListName = "@read-only";

/**
 * True if an allow-list allows a command to run without approval. Only simple commands can be allowed: words of letters,
 * digits and characters without a meaning to shells, separated by single spaces. Commands with quotes, expansions, pipes or
 * redirections always need approval, because a pattern cannot tell what they would do.
 *
 * `git status` allows just that command, `git status*` also further plain words (but not `git statusx`), `npm run test:*`
 * every script with that prefix, and a `*` before the end matches the rest of one word. A `*` never matches an option or a
 * path outside the folder, but matches the value of an option in the entry: `--since=*`. `isInFolder` returns whether a word
 * that may be a path leads to a file that the command may read.
 */
export function isAllowedCommand(
  command: string,
  entries: readonly string[],
  isInFolder: (word: string) => boolean = () => true,
): boolean {
  if (command.length > 1000 || !simpleCommandPattern.test(command)) return false;
  const words = command.split(" ");
  const isPlain = (word: string): boolean => isPlainWord(word) && isInFolder(word);
  return entries.some((entry) => {
    if (entry.trim() === readOnlyListName) return isReadOnlyCommand(words, isPlain);
    return entry.includes("*") ? matchesEntry(words, entry, isPlain) : command === entry.trim();
  });
}

/** Returns what is wrong with an allow-list entry, worded to follow the entry; undefined if it is valid. */
export function findAllowlistEntryProblem(entry: string): string | undefined {
  const trimmed = entry.trim();
  if (trimmed.startsWith("@"))
    return trimmed === readOnlyListName
      ? undefined
      : `is an unknown list of commands; the only one is "${readOnlyListName}"`;
  if (!trimmed.includes("*"))
    return simpleCommandPattern.test(trimmed)
      ? undefined
      : "never matches: only simple commands can be allowed, without quotes, variables, pipes or redirections";
  const [program = "", second] = trimmed.split(" ");
  const programName = program.replace(/\*$/, "");
  if (programName === "" || programName.includes("*"))
    return `would allow every command without approval; list individual commands, or use "${readOnlyListName}"`;
  if (!simpleCommandPattern.test(trimmed.replaceAll("*", "x")))
    return "never matches: only simple commands can be allowed, without quotes, variables, pipes or redirections";
  const name = programName.slice(programName.lastIndexOf("/") + 1);
  if (commandRunners.has(name) || commandRunners.has(name.replace(/[\d.]+$/, "")))
    return `would let ${programName} run anything without approval; write the complete command, without *`;
  const options = trimmed
    .replace(/\w\*$/, "")
    .split(" ")
    .filter((word) => word.startsWith("-"));
  if (options.some((word) => /^[^=]*\*/.test(word)))
    return "would allow any option; use * only for the value of an option, as in --since=*, or for words at the end";
  // An option before the subcommand leaves the subcommand open.
  const isOpenEnded = program !== programName || second === "*" || second?.startsWith("-") === true;
  if (isOpenEnded && !readOnlyCommands.has(programName))
    return `would allow every ${programName} command without approval; include the subcommand, as in "git status*", or use "${readOnlyListName}"`;
  return undefined;
}

// Excludes `~`, the home folder, and `=` in the first word, where it sets a variable.
const simpleCommandPattern = /^[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*$/;

/** Programs that run or interpret their arguments, so that no argument is harmless. */
const commandRunners = new Set(
  "sh bash dash zsh ksh fish busybox node deno bun python pypy perl ruby php lua awk gawk mawk sed env xargs command builtin exec eval source . sudo doas su nohup nice ionice setsid timeout time watch parallel ssh find fd make npx pnpx bunx uvx docker podman".split(
    " ",
  ),
);

interface CommandRule {
  /** Options that only change the output. Every other option needs approval. */
  readonly options?: RegExp;
  /** False if the command allows no operands: with one, `git branch` would create a branch. */
  readonly operands?: false;
}

const diffOptions =
  /^(?:--|-[pwb]|-U\d{1,3}|--stat|--shortstat|--numstat|--name-only|--name-status|--no-color)$/;

/**
 * Commands that print contents of the folder and change nothing, with the options for which that holds. None of these
 * options names a file to read or write, runs a program, or follows links out of the folder.
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

/** True for `git status`, `git diff` and the other git commands of `@read-only`, with any arguments. */
export function isReadOnlyGitCommand(command: string): boolean {
  const [program, subcommand = ""] = command.split(" ");
  return program === "git" && readOnlyCommands.has(`git ${subcommand}`);
}

function isReadOnlyCommand(words: readonly string[], isPlain: (word: string) => boolean): boolean {
  const length = words[0] === "git" ? 2 : 1;
  const rule = readOnlyCommands.get(words.slice(0, length).join(" "));
  if (rule === undefined) return false;
  return words.slice(length).every((word) => {
    if (word.startsWith("-")) return rule.options?.test(word) === true;
    return rule.operands !== false && isPlain(word);
  });
}

/** True if a word is neither an option nor a path that is absolute or contains `..`. */
function isPlainWord(word: string): boolean {
  if (word.startsWith("-")) return false;
  return word
    .split(/[=:,]/)
    .every((part) => !part.startsWith("/") && !part.split("/").includes(".."));
}

function matchesEntry(
  words: readonly string[],
  entry: string,
  isPlain: (word: string) => boolean,
): boolean {
  const entryWords = entry.trim().split(" ");
  const lastWord = entryWords.at(-1) ?? "";
  const isOpenEnded = lastWord.endsWith("*");
  if (words.length < entryWords.length || (words.length > entryWords.length && !isOpenEnded))
    return false;
  return words.every((word, index) => {
    const pattern = entryWords[index];
    if (pattern === undefined) return isPlain(word);
    // `git status*` allows more words after `git status`, but not a longer last word.
    const hasTrailingStar = isOpenEnded && index === entryWords.length - 1 && /\w\*$/.test(pattern);
    const wordGlob = hasTrailingStar ? pattern.slice(0, -1) : pattern;
    if (!wordGlob.includes("*")) return word === wordGlob;
    return compileWordPattern(wordGlob).test(word) && isPlain(getOptionValue(word, wordGlob));
  });
}

/** Returns the value of an option in the entry; the complete word if the entry has no option there. */
function getOptionValue(word: string, pattern: string): string {
  return /^-[^*]*=/.test(pattern) ? word.slice(word.indexOf("=") + 1) : word;
}

function compileWordPattern(pattern: string): RegExp {
  const literals = pattern
    .split("*")
    .map((literal) => literal.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literals.join("[^ ]*")}$`);
}
