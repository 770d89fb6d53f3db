/**
 * Whether a command is on an allow-list, so that nobody has to be asked. Only a simple command can be: words of letters,
 * digits and a few signs that mean nothing to any shell, with one blank between them. What is quoted, expanded, joined or
 * redirected is always asked about, because a pattern cannot know what it would do.
 *
 * `git status` allows just that, `git status*` also with anything after it (but not `git statusx`), `npm run test:*`
 * every name that begins so, and a `*` before the end stands for the rest of one word.
 */
export function isAllowedCommand(command: string, patterns: readonly string[]): boolean {
  if (command.length > 1000 || !simpleCommand.test(command)) return false;
  return patterns.some((pattern) => commandPattern(pattern).test(command));
}

// Neither `~`, which is a home folder, nor `=` in the first word, where it sets a variable.
const simpleCommand = /^[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*$/;

function commandPattern(pattern: string): RegExp {
  const pieces = pattern.trim().split("*");
  const last = pieces.length - 1;
  const source = pieces.map((piece, index) => {
    const text = piece.replace(/[\\^$.+?()[\]{}|]/g, "\\$&");
    if (index === last) return text;
    if (index < last - 1 || pieces[last] !== "") return `${text}[^ ]*`;
    return /\w$/.test(piece) ? `${text}(?: .*)?` : `${text}.*`;
  });
  return new RegExp(`^${source.join("")}$`);
}
