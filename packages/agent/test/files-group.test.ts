import { spawnSync } from "node:child_process";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { filesGroup, type ToolGroup } from "@deltawire/agent";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runTool, toolContext, getTool } from "./tool-context.ts";

let home: string;
let folder: string;
let files: ToolGroup;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "deltawire-files-"));
  folder = join(home, "work");
  await mkdir(join(folder, "src"), { recursive: true });
  await mkdir(join(home, "other"));
  await writeFile(join(home, "other", "secret.txt"), "secret\n");
  await writeFile(join(home, "secret.txt"), "secret\n");
  await writeFile(join(folder, "a.txt"), "one\ntwo\nthree\n");
  await writeFile(join(folder, "src", "b.ts"), "const b = 1;\n");
  files = filesGroup({ folder });
});

afterEach(() => rm(home, { recursive: true, force: true }));

const read = (path: string, overrides: object = {}): Promise<unknown> =>
  runTool(files, "read_file", { path, ...overrides });
const write = (path: string, content = "new"): Promise<unknown> =>
  runTool(files, "write_file", { path, content });
const edit = (path: string, old_text: string, new_text: string, attempt = 1): Promise<unknown> =>
  runTool(files, "edit_file", { path, old_text, new_text }, toolContext({ attempt }));

describe("the tools", () => {
  test("for reading are pure and need no approval; those for writing are idempotent and need approval once", () => {
    for (const name of ["read_file", "list_files", "search_files"])
      expect(getTool(files, name)).toMatchObject({ effect: "pure", approval: { call: "auto" } });
    for (const name of ["write_file", "edit_file"])
      expect(getTool(files, name)).toMatchObject({
        effect: "idempotent",
        approval: { call: "ask_once" },
        parallel: false,
      });
  });

  test("are only those for reading with readOnly", () => {
    const names = filesGroup({ folder, readOnly: true }).tools.map(({ name }) => name);
    expect(names).toEqual(["read_file", "list_files", "search_files"]);
  });
});

describe("excluded paths", () => {
  beforeEach(async () => {
    await mkdir(join(folder, "src", "private"));
    await writeFile(join(folder, "src", "own.toml"), "token = 1\n");
    await writeFile(join(folder, "src", "private", "key.txt"), "token = 2\n");
    await symlink(join(folder, "src"), join(folder, "way"));
    await symlink(join(folder, "src", "own.toml"), join(folder, "link.toml"));
    const exclude = [join(folder, "way", "own.toml"), join(folder, "src", "private")];
    files = filesGroup({ folder, exclude: [...exclude, join(folder, "later.db")] });
  });

  test.each(["src/own.toml", "way/own.toml", "link.toml", "src/private/key.txt", "later.db"])(
    "can neither be read nor written: %s",
    async (path) => {
      const protectedError = `${path} is protected from this tool group`;
      await expect(read(path)).rejects.toThrow(protectedError);
      await expect(write(path)).rejects.toThrow(protectedError);
      await expect(edit(path, "token", "x")).rejects.toThrow(protectedError);
      await expect(runTool(files, "search_files", { pattern: "token", path })).rejects.toThrow(
        protectedError,
      );
    },
  );

  test.each([".", "src", "way"])("are skipped by a search of %s", async (path) => {
    const found = await runTool(files, "search_files", { pattern: "token|const", path });
    expect(found).toContain("b.ts:1: const b = 1;");
    expect(found).not.toContain("token");
  });

  test("are protected through hard links too", async () => {
    await link(join(folder, "src", "own.toml"), join(folder, "innocent.txt"));
    await link(join(folder, "src", "b.ts"), join(folder, "copy.ts"));
    const protectedError = "innocent.txt is protected from this tool group";
    await expect(read("innocent.txt")).rejects.toThrow(protectedError);
    await expect(edit("innocent.txt", "token", "x")).rejects.toThrow(protectedError);
    const search = { pattern: "token|const" };
    expect(await runTool(files, "search_files", search)).not.toContain("token");
    expect(await runTool(files, "search_files", { ...search, path: "innocent.txt" })).toContain(
      "(no matches)",
    );
    expect(await read("copy.ts")).toContain("const b");
    expect(await write("innocent.txt")).toContain("replaced");
    expect(await readFile(join(folder, "src", "own.toml"), "utf8")).toBe("token = 1\n");
  });

  test("may be given by a prefix, which also excludes files that do not exist yet", async () => {
    await writeFile(join(folder, "own.db-v1.bak"), "token = 3\n");
    files = filesGroup({
      folder,
      exclude: [{ startsWith: join(folder, "way", "..", "own.db-v") }],
    });
    for (const path of ["own.db-v1.bak", "own.db-v2.bak"]) {
      await expect(read(path)).rejects.toThrow("is protected from this tool group");
      await expect(write(path)).rejects.toThrow("is protected from this tool group");
    }
    await link(join(folder, "own.db-v1.bak"), join(folder, "plain"));
    await expect(read("plain")).rejects.toThrow("plain is protected from this tool group");
    const found = await runTool(files, "search_files", { pattern: "token = 3" });
    expect(found).not.toContain("bak:");
  });

  test("do not affect other paths", async () => {
    expect(await read("src/b.ts")).toContain("const b");
    expect(await write("src/own.toml.txt")).toContain("created");
  });
});

describe("reading", () => {
  test("returns numbered lines in pages", async () => {
    expect(await read("a.txt")).toBe("1  one\n2  two\n3  three");
    expect(await read("a.txt", { lines: 2 })).toBe(
      "1  one\n2  two\n(more lines follow; continue with start_line 3)",
    );
    expect(await read("a.txt", { start_line: 3 })).toBe("3  three");
    expect(await read("a.txt", { start_line: 9 })).toBe("a.txt has fewer than 9 lines");
    expect(await read(join(folder, "a.txt"), { lines: 1 })).toContain("1  one");
  });

  test("handles empty files, byte order marks and Windows line breaks", async () => {
    await writeFile(join(folder, "empty"), "");
    await writeFile(join(folder, "win.txt"), "\uFEFFa\r\nb");
    expect(await read("empty")).toBe("empty is empty");
    expect(await read("win.txt")).toBe("1  a\n2  b");
  });

  test("returns complete lines from the middle of a large file, wherever the chunks end", async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index + 1} é`);
    await writeFile(join(folder, "large.txt"), lines.join("\n"));
    const text = (await read("large.txt", { start_line: 20_000, lines: 2000 })) as string;
    expect(text.split("\n").slice(0, -1)).toEqual(
      lines.slice(19_999, 21_999).map((line, index) => `${20_000 + index}  ${line}`),
    );
  });

  test("truncates very long lines", async () => {
    await writeFile(join(folder, "long.txt"), "x".repeat(1_000_000));
    const text = (await read("long.txt")) as string;
    expect(text.length).toBeLessThan(5_000);
    expect(text).toMatch(/… \(996000 more bytes\)$/);
  });

  test("reads only the requested page of a huge file", async () => {
    await writeFile(join(folder, "huge.txt"), "first\nsecond\n" + "y\n".repeat(10_000));
    await truncate(join(folder, "huge.txt"), 2 ** 40);
    expect(await read("huge.txt", { lines: 2 })).toContain("1  first\n2  second");
    await expect(edit("huge.txt", "first", "1st")).rejects.toThrow("too large to be edited");
    expect(await runTool(files, "search_files", { pattern: "first" })).toBe(
      "(no matches)\n(1 files or folders skipped: too large or not readable)",
    );
  });

  test("stops when the call is aborted", async () => {
    await writeFile(join(folder, "huge.txt"), "y\n".repeat(10_000));
    await truncate(join(folder, "huge.txt"), 2 ** 40);
    const signal = AbortSignal.timeout(50);
    const input = { path: "huge.txt", start_line: 20_000 };
    await expect(runTool(files, "read_file", input, toolContext({ signal }))).rejects.toThrow(
      /abort|timeout/i,
    );
  });

  test("returns images, and rejects other binary files", async () => {
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4", "base64");
    await writeFile(join(folder, "dot.png"), png);
    await writeFile(join(folder, "x.bin"), Buffer.from([1, 0, 2]));
    const image = { type: "image", bytes: png, media_type: "image/png" };
    expect(await read("dot.png")).toEqual({ message_content: [image], block_list: [image] });
    await expect(read("x.bin")).rejects.toThrow("x.bin is a binary file of 3 bytes");
  });

  test("rejects missing paths and paths that are not files", async () => {
    await expect(read("none.txt")).rejects.toThrow("none.txt does not exist");
    await expect(read("a.txt/x")).rejects.toThrow("a.txt/x does not exist");
    await expect(read("src")).rejects.toThrow("src is a folder");
    await expect(read(".")).rejects.toThrow(". is a folder");
    spawnSync("sh", ["-c", "mkfifo pipe"], { cwd: folder });
    await expect(read("pipe")).rejects.toThrow("pipe is not a regular file");
  });
});

describe("the sandbox", () => {
  const escapingPaths = [
    "../secret.txt",
    "..",
    "src/../../secret.txt",
    "src/../a.txt",
    "./../work/../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
  ];

  test.each(escapingPaths)("rejects %s in every tool", async (path) => {
    await expect(read(path)).rejects.toThrow("is outside of the folder");
    await expect(write(path)).rejects.toThrow("is outside of the folder");
    await expect(edit(path, "secret", "x")).rejects.toThrow("is outside of the folder");
    await expect(runTool(files, "list_files", { path })).rejects.toThrow("is outside");
    await expect(runTool(files, "search_files", { path, pattern: "." })).rejects.toThrow(
      "is outside",
    );
    expect(await readFile(join(home, "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("rejects a sibling folder whose name starts with the folder's name", async () => {
    await mkdir(`${folder}-2`);
    await writeFile(`${folder}-2/x`, "secret");
    await expect(read(`${folder}-2/x`)).rejects.toThrow("is outside of the folder");
  });

  test("accepts names that only look like special paths", async () => {
    await write("..a", "x");
    await write("~", "y");
    expect(await read("..a")).toBe("1  x");
    expect(await readdir(folder)).toContain("~");
    await expect(read("%2e%2e/secret.txt")).rejects.toThrow("does not exist");
  });

  test("rejects paths with NUL", async () => {
    await expect(read("a.txt\0.png")).rejects.toThrow("NUL");
    await expect(write("../secret.txt\0")).rejects.toThrow("NUL");
  });

  test("does not follow a link to a file outside", async () => {
    await symlink(join(home, "secret.txt"), join(folder, "link.txt"));
    await expect(read("link.txt")).rejects.toThrow("is outside of the folder");
    await expect(write("link.txt")).rejects.toThrow("is outside of the folder");
    await expect(edit("link.txt", "secret", "x")).rejects.toThrow("is outside of the folder");
    expect(await readFile(join(home, "secret.txt"), "utf8")).toBe("secret\n");
    expect(await runTool(files, "search_files", { pattern: "secret" })).toBe("(no matches)");
    expect(await runTool(files, "list_files", {})).toContain("link.txt (a link)");
  });

  test("does not follow a link to a folder outside", async () => {
    await symlink(join(home, "other"), join(folder, "out"));
    await expect(read("out/secret.txt")).rejects.toThrow("is outside of the folder");
    await expect(write("out/new.txt")).rejects.toThrow("is outside of the folder");
    await expect(write("out/new/new.txt")).rejects.toThrow("is outside of the folder");
    await expect(runTool(files, "list_files", { path: "out" })).rejects.toThrow("is outside");
    expect(await runTool(files, "search_files", { pattern: "secret" })).toBe("(no matches)");
    expect(await runTool(files, "list_files", { recursive: true })).not.toContain("secret");
    expect(await readdir(join(home, "other"))).toEqual(["secret.txt"]);
  });

  test("does not create files outside through a broken link", async () => {
    await symlink(join(home, "later.txt"), join(folder, "dangling"));
    await symlink(join(home, "later"), join(folder, "dangling-folder"));
    await expect(write("dangling")).rejects.toThrow("is a broken link");
    await expect(write("dangling-folder/x")).rejects.toThrow("is a broken link");
    expect((await readdir(home)).toSorted()).toEqual(["other", "secret.txt", "work"]);
  });

  test("follows links within the folder, for reading and writing", async () => {
    await symlink("a.txt", join(folder, "link.txt"));
    await symlink("src", join(folder, "lib"));
    expect(await read("link.txt", { lines: 1 })).toContain("1  one");
    await write("link.txt", "changed");
    await write("lib/c.ts", "c");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("changed");
    expect(await readFile(join(folder, "src", "c.ts"), "utf8")).toBe("c");
  });

  test("works if the configured folder is a link", async () => {
    await symlink(folder, join(home, "alias"));
    files = filesGroup({ folder: join(home, "alias") });
    expect(await read(join(home, "alias", "a.txt"), { lines: 1 })).toContain("1  one");
    expect(await read("a.txt", { lines: 1 })).toContain("1  one");
  });

  test("does not follow links that are created between the check and the access", async () => {
    const swappedPath = join(folder, "swap");
    await mkdir(join(folder, "real"));
    await writeFile(join(folder, "real", "secret.txt"), "mine\n");
    const swapping = new AbortController();
    const swapLoop = (async () => {
      let round = 0;
      while (!swapping.signal.aborted) {
        // `write_file` may have created this folder and be writing into it, so it is moved, not deleted.
        await rename(swappedPath, join(folder, `aside-${(round += 1)}`)).catch(() => {});
        await symlink(join(home, "other"), swappedPath).catch(() => {});
        await unlink(swappedPath).catch(() => {});
        await rename(join(folder, "real"), swappedPath).catch(() => {});
        await setTimeout(2);
        await rename(swappedPath, join(folder, "real")).catch(() => {});
      }
    })();
    let readCount = 0;
    try {
      for (let round = 0; round < 300; round += 1) {
        const text = await read("swap/secret.txt").catch(() => "rejected");
        if (text !== "rejected") readCount += 1;
        expect(["rejected", "1  mine"]).toContain(text);
        await write("swap/new.txt").catch(() => "rejected");
        const found = await edit("swap/secret.txt", "secret", "x").catch(() => "rejected");
        expect(found).toBe("rejected");
      }
    } finally {
      swapping.abort();
      await swapLoop;
    }
    expect(readCount).toBeGreaterThan(0);
    expect(await readdir(join(home, "other"))).toEqual(["secret.txt"]);
    expect(await readFile(join(home, "other", "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("does not write to .git, whatever path is used", async () => {
    await mkdir(join(folder, ".git", "hooks"), { recursive: true });
    await symlink(".git", join(folder, "g"));
    for (const path of [".git/hooks/pre-commit", ".GIT/config", "g/config", "src/.git/config"])
      await expect(write(path)).rejects.toThrow("this tool does not write to .git");
  });
});

describe("listing and searching", () => {
  test("lists a folder in order, with sizes", async () => {
    expect(await runTool(files, "list_files", {})).toBe("a.txt (14 bytes)\nsrc/");
    expect(await runTool(files, "list_files", { path: "src" })).toBe("src/b.ts (13 bytes)");
  });

  test("a recursive listing skips node_modules, and accepts a glob", async () => {
    await mkdir(join(folder, "node_modules", "x"), { recursive: true });
    await mkdir(join(folder, "src", "deep"));
    await writeFile(join(folder, "src", "deep", "c.ts"), "");
    const all = await runTool(files, "list_files", { recursive: true });
    expect(all).toBe(
      [
        "a.txt (14 bytes)",
        "node_modules/ (not entered)",
        "src/",
        "src/b.ts (13 bytes)",
        "src/deep/",
        "src/deep/c.ts (0 bytes)",
      ].join("\n"),
    );
    const list = (pattern: string): Promise<unknown> =>
      runTool(files, "list_files", { recursive: true, files: pattern });
    expect(await list("*.ts")).toBe("src/b.ts (13 bytes)\nsrc/deep/c.ts (0 bytes)");
    expect(await list("src/*.ts")).toBe("src/b.ts (13 bytes)");
    expect(await list("src/**/*.{ts,md}")).toBe("src/b.ts (13 bytes)\nsrc/deep/c.ts (0 bytes)");
    expect(await list("?.txt")).toBe("a.txt (14 bytes)");
    expect(await list("*.py")).toBe("(no entries)");
  });

  test("matches include path, line and text, and binary files are skipped", async () => {
    await writeFile(join(folder, "x.bin"), "const\0");
    expect(await runTool(files, "search_files", { pattern: "t[wh]|b =" })).toBe(
      "a.txt:2: two\na.txt:3: three\nsrc/b.ts:1: const b = 1;",
    );
    expect(await runTool(files, "search_files", { pattern: "ONE", ignore_case: true })).toBe(
      "a.txt:1: one",
    );
    expect(await runTool(files, "search_files", { pattern: "o", path: "a.txt" })).toBe(
      "a.txt:1: one\na.txt:2: two",
    );
    expect(await runTool(files, "search_files", { pattern: ".", files: "*.ts" })).toBe(
      "src/b.ts:1: const b = 1;",
    );
  });

  test("a search stops at the limit of matches, with a notice", async () => {
    await writeFile(join(folder, "many.txt"), "hit\n".repeat(5_000));
    const text = (await runTool(files, "search_files", { pattern: "hit" })) as string;
    expect(text.split("\n")).toHaveLength(301);
    expect(text).toMatch(/\(only the first 300 matches\)$/);
  });

  test("a search that takes too long is stopped, and its matches so far are returned", async () => {
    await writeFile(join(folder, "trap.txt"), `aab\n${"a".repeat(60)}!\n`);
    files = filesGroup({ folder, searchTimeoutMs: 3_000 });
    const started = performance.now();
    const text = await runTool(files, "search_files", { pattern: "^(a+)+b?$|^aab" });
    expect(text).toBe("trap.txt:1: aab\n(timed out after 3 s; narrow the search)");
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("a canceled search ends immediately", async () => {
    await writeFile(join(folder, "trap.txt"), `${"a".repeat(60)}!\n`);
    const signal = AbortSignal.timeout(200);
    const started = performance.now();
    await expect(
      runTool(files, "search_files", { pattern: "^(a+)+$" }, toolContext({ signal })),
    ).rejects.toThrow(/timeout/i);
    // The timeout of a search is ten seconds.
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test("an invalid pattern is rejected with the reason", async () => {
    await expect(runTool(files, "search_files", { pattern: "(" })).rejects.toThrow(
      /invalid pattern: .*group/i,
    );
  });
});

describe("writing", () => {
  test("creates missing folders, keeps the mode of a replaced file, and leaves no temporary files", async () => {
    expect(await write("x/y/z.txt", "héllo")).toBe("created x/y/z.txt (6 bytes)");
    expect(await readdir(join(folder, "x", "y"))).toEqual(["z.txt"]);
    await chmod(join(folder, "a.txt"), 0o750);
    expect(await write("a.txt", "")).toBe("replaced a.txt (0 bytes)");
    expect((await stat(join(folder, "a.txt"))).mode & 0o777).toBe(0o750);
  });

  test("does not overwrite folders", async () => {
    await expect(write("src")).rejects.toThrow("src is a folder");
    await expect(write(".")).rejects.toThrow(". is a folder");
    await expect(write("a.txt/x")).rejects.toThrow("a.txt");
    expect((await readdir(folder)).toSorted()).toEqual(["a.txt", "src"]);
  });

  test("an edit replaces the only occurrence, and inserts dollar signs literally", async () => {
    expect(await edit("a.txt", "two", "$& $1 2")).toBe(
      "edited a.txt in one place, starting at line 2",
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\n$& $1 2\nthree\n");
  });

  test("an edit that is not unique, finds nothing or changes nothing is rejected", async () => {
    await expect(edit("a.txt", "e", "E")).rejects.toThrow("old_text occurs 3 times");
    await expect(edit("a.txt", "four", "4")).rejects.toThrow("does not occur in the file");
    await expect(edit("a.txt", "one", "one")).rejects.toThrow("are the same");
    const all = { path: "a.txt", old_text: "e", new_text: "E", all: true };
    expect(await runTool(files, "edit_file", all)).toBe(
      "edited a.txt in 3 places, starting at line 1",
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("onE\ntwo\nthrEE\n");
  });

  test("an edit repeated after a crash is applied once", async () => {
    await edit("a.txt", "two", "two\n2.5");
    expect(await edit("a.txt", "two", "two\n2.5", 2)).toBe("edited a.txt before the restart");
    await edit("a.txt", "three", "3");
    expect(await edit("a.txt", "three", "3", 2)).toBe("edited a.txt before the restart");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\ntwo\n2.5\n3\n");
    expect(await edit("a.txt", "one", "1", 2)).toContain("edited a.txt in one place");
  });

  test("an edit keeps Windows line breaks and a byte order mark", async () => {
    await writeFile(join(folder, "win.txt"), "\uFEFFa\r\nb\r\nc\r\n");
    await edit("win.txt", "a\nb", "a\nx\nb");
    expect(await readFile(join(folder, "win.txt"), "utf8")).toBe("\uFEFFa\r\nx\r\nb\r\nc\r\n");
  });

  test("an edit of a file that is not UTF-8 is rejected", async () => {
    const bytes = Buffer.from([0x61, 0xe9, 0x62]);
    await writeFile(join(folder, "latin.txt"), bytes);
    await expect(edit("latin.txt", "a", "x")).rejects.toThrow("is not UTF-8");
    expect(await readFile(join(folder, "latin.txt"))).toEqual(bytes);
  });
});
