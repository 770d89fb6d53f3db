import { execFile } from "node:child_process";

/**
 * Variables for `git` commands that only read. They turn off what a repository's configuration can run whatever the
 * command: a file system monitor and hooks. They also refuse a bare repository that git finds by itself, because anybody
 * who can write `HEAD`, `config`, `objects` and `refs` into a folder makes it one. They do not look into repositories within
 * the repository, whose own configuration could have filters.
 */
export const readOnlyGitEnvironment: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  ...configurationVariables({
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "safe.bareRepository": "explicit",
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
  }),
};

/**
 * Settings of a repository that make reading commands run a program (filters, diff drivers, signature checks, fetching of
 * missing objects), or read files of another folder (`git blame` quotes a file of revisions that has none). Names of drivers are free, so no variable can turn these off.
 */
const unsafeSetting =
  /^(?:core\.worktree|blame\.ignorerevsfile|mailmap\.file|diff\.external|diff\..*\.(?:command|textconv)|filter\..*\.(?:clean|smudge|process)|gpg\..*|extensions\.partialclone|remote\..*\.promisor|submodule\..*)$/i;

const timeoutMs = 5_000;

/**
 * True if the configuration of the repository in `folder` has no unsafe setting and there is no `.gitmodules`, which can
 * undo `diff.ignoreSubmodules`; also where there is no repository. What the user or the system has configured is trusted.
 * False if git cannot read it.
 */
export async function isSafeRepository(
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<boolean> {
  const git = (...words: string[]): Promise<string | undefined> =>
    outputOf(words, folder, { ...environment, ...readOnlyGitEnvironment });
  const list = await git("config", "--list", "--includes", "--show-scope", "--name-only", "-z");
  if (list === undefined || repositorySettings(list).some((name) => unsafeSetting.test(name)))
    return false;
  if ((await git("rev-parse", "--is-inside-work-tree")) !== "true\n") return true;
  // Of the index and of the folder: git reads either.
  return (await git("ls-files", "--cached", "--others", "--", ":/.gitmodules")) === "";
}

/** Undefined if git fails. */
function outputOf(
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile("git", words, { cwd, env, timeout: timeoutMs, encoding: "utf8" }, (error, output) => {
      resolve(error === null ? output : undefined);
    });
  });
}

/** `output`: scope and name of each setting in turn, each with a NUL after it. */
function repositorySettings(output: string): string[] {
  const fields = output.split("\0");
  return fields.filter((_, at) => at % 2 === 1 && !trustedScopes.has(fields[at - 1] ?? ""));
}

const trustedScopes = new Set(["system", "global", "command"]);

function configurationVariables(settings: Record<string, string>): Record<string, string> {
  const entries = Object.entries(settings);
  const variables = entries.flatMap(([name, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(variables) };
}
