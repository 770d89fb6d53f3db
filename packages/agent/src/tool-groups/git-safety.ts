import { execFile } from "node:child_process";

/**
 * Environment for `git` commands that only read. Disables what a repository's configuration can run with any command: a
 * file system monitor and hooks. Also rejects implicit bare repositories, because writing `HEAD`, `config`, `objects` and
 * `refs` into a folder makes it one, and skips nested repositories, whose own configuration could have filters.
 */
export const readOnlyGitEnvironment: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  ...buildConfigVariables({
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "safe.bareRepository": "explicit",
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
  }),
};

/**
 * Settings of a repository that make read-only commands run a program (filters, diff drivers, signature checks, fetching
 * of missing objects), or read files of another folder (`git blame` quotes an invalid ignore-revs file in its error).
 * Driver names are arbitrary, so no environment variable can disable these.
 */
const unsafeSettingPattern =
  /^(?:core\.worktree|blame\.ignorerevsfile|mailmap\.file|diff\.external|diff\..*\.(?:command|textconv)|filter\..*\.(?:clean|smudge|process)|gpg\..*|extensions\.partialclone|remote\..*\.promisor|submodule\..*)$/i;

const gitTimeoutMs = 5_000;

/**
 * True if the repository in `folder` has no unsafe setting and no `.gitmodules`, which can override
 * `diff.ignoreSubmodules`; also if there is no repository. Settings of the user and the system are trusted.
 * False if git cannot read the configuration.
 */
export async function isSafeRepository(
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<boolean> {
  const git = (...args: string[]): Promise<string | undefined> =>
    runGit(args, folder, { ...environment, ...readOnlyGitEnvironment });
  const settingsList = await git(
    "config",
    "--list",
    "--includes",
    "--show-scope",
    "--name-only",
    "-z",
  );
  if (
    settingsList === undefined ||
    parseRepositorySettings(settingsList).some((name) => unsafeSettingPattern.test(name))
  )
    return false;
  if ((await git("rev-parse", "--is-inside-work-tree")) !== "true\n") return true;
  // In the index or in the folder: git reads either.
  return (await git("ls-files", "--cached", "--others", "--", ":/.gitmodules")) === "";
}

/** Returns the output, or undefined if git fails. */
function runGit(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      "git",
      args,
      { cwd, env, timeout: gitTimeoutMs, encoding: "utf8" },
      (error, output) => {
        resolve(error === null ? output : undefined);
      },
    );
  });
}

/** Returns the names of the repository's own settings. `output`: the scope and name of each setting, each terminated by NUL. */
function parseRepositorySettings(output: string): string[] {
  const fields = output.split("\0");
  return fields.filter(
    (_, index) => index % 2 === 1 && !trustedScopes.has(fields[index - 1] ?? ""),
  );
}

const trustedScopes = new Set(["system", "global", "command"]);

function buildConfigVariables(settings: Record<string, string>): Record<string, string> {
  const entries = Object.entries(settings);
  const variables = entries.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(variables) };
}
