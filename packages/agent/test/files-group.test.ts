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
import { runTool, toolContext, toolOf } from "./tool-context.ts";

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

const read = (path: string, more: object = {}): Promise<unknown> =>
  runTool(files, "read_file", { path, ...more });
const write = (path: string, content = "new"): Promise<unknown> =>
  runTool(files, "write_file", { path, content });
const edit = (path: string, old_text: string, new_text: string, attempt = 1): Promise<unknown> =>
  runTool(files, "edit_file", { path, old_text, new_text }, toolContext({ attempt }));

describe("policies", () => {
  test("reading asks nobody and may be done again; writing asks once for each", () => {
    for (const name of ["read_file", "list_files", "search_files"])
      expect(toolOf(files, name)).toMatchObject({ effect: "pure", approval: { call: "auto" } });
    for (const name of ["write_file", "edit_file"])
      expect(toolOf(files, name)).toMatchObject({
        effect: "idempotent",
        approval: { call: "ask once" },
        parallel: false,
      });
  });

  test("a folder that is for reading only has no tools that write", () => {
    const names = filesGroup({ folder, readOnly: true }).tools.map(({ name }) => name);
    expect(names).toEqual(["read_file", "list_files", "search_files"]);
  });
});

describe("what is excluded", () => {
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
    "%s is neither read nor written, whatever way leads there",
    async (path) => {
      const refused = `${path} is kept from this tool group`;
      await expect(read(path)).rejects.toThrow(refused);
      await expect(write(path)).rejects.toThrow(refused);
      await expect(edit(path, "token", "x")).rejects.toThrow(refused);
      await expect(runTool(files, "search_files", { pattern: "token", path })).rejects.toThrow(
        refused,
      );
    },
  );

  test.each([".", "src", "way"])("a search of %s does not look into it", async (path) => {
    const found = await runTool(files, "search_files", { pattern: "token|const", path });
    expect(found).toContain("b.ts:1: const b = 1;");
    expect(found).not.toContain("token");
  });

  test("is kept under another name too: a hard link to it", async () => {
    await link(join(folder, "src", "own.toml"), join(folder, "innocent.txt"));
    await link(join(folder, "src", "b.ts"), join(folder, "copy.ts"));
    const refused = "innocent.txt is kept from this tool group";
    await expect(read("innocent.txt")).rejects.toThrow(refused);
    await expect(edit("innocent.txt", "token", "x")).rejects.toThrow(refused);
    const search = { pattern: "token|const" };
    expect(await runTool(files, "search_files", search)).not.toContain("token");
    expect(await runTool(files, "search_files", { ...search, path: "innocent.txt" })).toContain(
      "(no matches)",
    );
    expect(await read("copy.ts")).toContain("const b");
    expect(await write("innocent.txt")).toContain("replaced");
    expect(await readFile(join(folder, "src", "own.toml"), "utf8")).toBe("token = 1\n");
  });

  test("may be all paths that begin alike, also those that do not exist yet", async () => {
    await writeFile(join(folder, "own.db-v1.bak"), "token = 3\n");
    files = filesGroup({
      folder,
      exclude: [{ startsWith: join(folder, "way", "..", "own.db-v") }],
    });
    for (const path of ["own.db-v1.bak", "own.db-v2.bak"]) {
      await expect(read(path)).rejects.toThrow("is kept from this tool group");
      await expect(write(path)).rejects.toThrow("is kept from this tool group");
    }
    await link(join(folder, "own.db-v1.bak"), join(folder, "plain"));
    await expect(read("plain")).rejects.toThrow("plain is kept from this tool group");
    const found = await runTool(files, "search_files", { pattern: "token = 3" });
    expect(found).not.toContain("bak:");
  });

  test("all else is as before", async () => {
    expect(await read("src/b.ts")).toContain("const b");
    expect(await write("src/own.toml.txt")).toContain("created");
  });
});

describe("reading", () => {
  test("lines are numbered and come in pages", async () => {
    expect(await read("a.txt")).toBe("1  one\n2  two\n3  three");
    expect(await read("a.txt", { lines: 2 })).toBe(
      "1  one\n2  two\n(more follows: go on with start_line 3)",
    );
    expect(await read("a.txt", { start_line: 3 })).toBe("3  three");
    expect(await read("a.txt", { start_line: 9 })).toBe("a.txt has fewer than 9 lines");
    expect(await read(join(folder, "a.txt"), { lines: 1 })).toContain("1  one");
  });

  test("an empty file, a byte order mark and Windows line ends are no lines of their own", async () => {
    await writeFile(join(folder, "empty"), "");
    await writeFile(join(folder, "win.txt"), "\uFEFFa\r\nb");
    expect(await read("empty")).toBe("empty is empty");
    expect(await read("win.txt")).toBe("1  a\n2  b");
  });

  test("a page in the middle of a large file is whole, wherever the chunks are cut", async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index + 1} é`);
    await writeFile(join(folder, "large.txt"), lines.join("\n"));
    const text = (await read("large.txt", { start_line: 20_000, lines: 2000 })) as string;
    expect(text.split("\n").slice(0, -1)).toEqual(
      lines.slice(19_999, 21_999).map((line, index) => `${20_000 + index}  ${line}`),
    );
  });

  test("a line without an end is cut", async () => {
    await writeFile(join(folder, "long.txt"), "x".repeat(1_000_000));
    const text = (await read("long.txt")) as string;
    expect(text.length).toBeLessThan(5_000);
    expect(text).toMatch(/… \(996000 bytes more\)$/);
  });

  test("a huge file costs no more than the page that is asked for", async () => {
    await writeFile(join(folder, "huge.txt"), "first\nsecond\n" + "y\n".repeat(10_000));
    await truncate(join(folder, "huge.txt"), 2 ** 40);
    expect(await read("huge.txt", { lines: 2 })).toContain("1  first\n2  second");
    await expect(edit("huge.txt", "first", "1st")).rejects.toThrow("too large to be edited");
    expect(await runTool(files, "search_files", { pattern: "first" })).toBe(
      "(no matches)\n(1 files or folders were too large or could not be read)",
    );
  });

  test("a reader that nobody waits for any more stops", async () => {
    await writeFile(join(folder, "huge.txt"), "y\n".repeat(10_000));
    await truncate(join(folder, "huge.txt"), 2 ** 40);
    const signal = AbortSignal.timeout(50);
    const input = { path: "huge.txt", start_line: 20_000 };
    await expect(runTool(files, "read_file", input, toolContext({ signal }))).rejects.toThrow(
      /abort|timeout/i,
    );
  });

  test("a picture is returned as one, other binary files are named", async () => {
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4", "base64");
    await writeFile(join(folder, "dot.png"), png);
    await writeFile(join(folder, "x.bin"), Buffer.from([1, 0, 2]));
    const picture = { type: "image", bytes: png, media_type: "image/png" };
    expect(await read("dot.png")).toEqual({ message_content: [picture], block_list: [picture] });
    await expect(read("x.bin")).rejects.toThrow("x.bin is a binary file of 3 bytes");
  });

  test("what is not there and what is no file is said", async () => {
    await expect(read("none.txt")).rejects.toThrow("none.txt does not exist");
    await expect(read("a.txt/x")).rejects.toThrow("a.txt/x does not exist");
    await expect(read("src")).rejects.toThrow("src is a folder");
    await expect(read(".")).rejects.toThrow(". is a folder");
    spawnSync("sh", ["-c", "mkfifo pipe"], { cwd: folder });
    await expect(read("pipe")).rejects.toThrow("pipe is no regular file");
  });
});

describe("no way out", () => {
  const escapes = [
    "../secret.txt",
    "..",
    "src/../../secret.txt",
    "src/../a.txt",
    "./../work/../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
  ];

  test.each(escapes)("%s is refused by every tool", async (path) => {
    await expect(read(path)).rejects.toThrow("is outside of the folder");
    await expect(write(path)).rejects.toThrow("is outside of the folder");
    await expect(edit(path, "secret", "x")).rejects.toThrow("is outside of the folder");
    await expect(runTool(files, "list_files", { path })).rejects.toThrow("is outside");
    await expect(runTool(files, "search_files", { path, pattern: "." })).rejects.toThrow(
      "is outside",
    );
    expect(await readFile(join(home, "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("a sister folder whose name begins with the folder's is outside", async () => {
    await mkdir(`${folder}-2`);
    await writeFile(`${folder}-2/x`, "secret");
    await expect(read(`${folder}-2/x`)).rejects.toThrow("is outside of the folder");
  });

  test("names that only look like ways out are names", async () => {
    await write("..a", "x");
    await write("~", "y");
    expect(await read("..a")).toBe("1  x");
    expect(await readdir(folder)).toContain("~");
    await expect(read("%2e%2e/secret.txt")).rejects.toThrow("does not exist");
  });

  test("a NUL does not end a path", async () => {
    await expect(read("a.txt\0.png")).rejects.toThrow("NUL");
    await expect(write("../secret.txt\0")).rejects.toThrow("NUL");
  });

  test("a link to a file outside is neither read nor written through", async () => {
    await symlink(join(home, "secret.txt"), join(folder, "link.txt"));
    await expect(read("link.txt")).rejects.toThrow("is outside of the folder");
    await expect(write("link.txt")).rejects.toThrow("is outside of the folder");
    await expect(edit("link.txt", "secret", "x")).rejects.toThrow("is outside of the folder");
    expect(await readFile(join(home, "secret.txt"), "utf8")).toBe("secret\n");
    expect(await runTool(files, "search_files", { pattern: "secret" })).toBe("(no matches)");
    expect(await runTool(files, "list_files", {})).toContain("link.txt (a link)");
  });

  test("a link to a folder outside is not entered", async () => {
    await symlink(join(home, "other"), join(folder, "out"));
    await expect(read("out/secret.txt")).rejects.toThrow("is outside of the folder");
    await expect(write("out/new.txt")).rejects.toThrow("is outside of the folder");
    await expect(write("out/new/new.txt")).rejects.toThrow("is outside of the folder");
    await expect(runTool(files, "list_files", { path: "out" })).rejects.toThrow("is outside");
    expect(await runTool(files, "search_files", { pattern: "secret" })).toBe("(no matches)");
    expect(await runTool(files, "list_files", { recursive: true })).not.toContain("secret");
    expect(await readdir(join(home, "other"))).toEqual(["secret.txt"]);
  });

  test("a link that leads nowhere yet creates nothing outside", async () => {
    await symlink(join(home, "later.txt"), join(folder, "dangling"));
    await symlink(join(home, "later"), join(folder, "dangling-folder"));
    await expect(write("dangling")).rejects.toThrow("is a link that leads nowhere");
    await expect(write("dangling-folder/x")).rejects.toThrow("is a link that leads nowhere");
    expect((await readdir(home)).toSorted()).toEqual(["other", "secret.txt", "work"]);
  });

  test("a link within the folder is followed, and what it leads to is written", async () => {
    await symlink("a.txt", join(folder, "link.txt"));
    await symlink("src", join(folder, "lib"));
    expect(await read("link.txt", { lines: 1 })).toContain("1  one");
    await write("link.txt", "changed");
    await write("lib/c.ts", "c");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("changed");
    expect(await readFile(join(folder, "src", "c.ts"), "utf8")).toBe("c");
  });

  test("the folder may itself be named through a link", async () => {
    await symlink(folder, join(home, "alias"));
    files = filesGroup({ folder: join(home, "alias") });
    expect(await read(join(home, "alias", "a.txt"), { lines: 1 })).toContain("1  one");
    expect(await read("a.txt", { lines: 1 })).toContain("1  one");
  });

  test("links that appear between check and use lead nowhere", async () => {
    const place = join(folder, "swap");
    await mkdir(join(folder, "real"));
    await writeFile(join(folder, "real", "secret.txt"), "mine\n");
    const swapping = new AbortController();
    const swaps = (async () => {
      let round = 0;
      while (!swapping.signal.aborted) {
        // `write_file` may have made it, and may be writing into it: moved aside, never emptied.
        await rename(place, join(folder, `aside-${(round += 1)}`)).catch(() => {});
        await symlink(join(home, "other"), place).catch(() => {});
        await unlink(place).catch(() => {});
        await rename(join(folder, "real"), place).catch(() => {});
        await setTimeout(2);
        await rename(place, join(folder, "real")).catch(() => {});
      }
    })();
    let seen = 0;
    try {
      for (let round = 0; round < 300; round += 1) {
        const text = await read("swap/secret.txt").catch(() => "refused");
        if (text !== "refused") seen += 1;
        expect(["refused", "1  mine"]).toContain(text);
        await write("swap/new.txt").catch(() => "refused");
        const found = await edit("swap/secret.txt", "secret", "x").catch(() => "refused");
        expect(found).toBe("refused");
      }
    } finally {
      swapping.abort();
      await swaps;
    }
    expect(seen).toBeGreaterThan(0);
    expect(await readdir(join(home, "other"))).toEqual(["secret.txt"]);
    expect(await readFile(join(home, "other", "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("what git runs by itself is not written, however it is named", async () => {
    await mkdir(join(folder, ".git", "hooks"), { recursive: true });
    await symlink(".git", join(folder, "g"));
    for (const path of [".git/hooks/pre-commit", ".GIT/config", "g/config", "src/.git/config"])
      await expect(write(path)).rejects.toThrow("is not written by this tool");
  });
});

describe("listing and searching", () => {
  test("a folder is listed in order, with sizes", async () => {
    expect(await runTool(files, "list_files", {})).toBe("a.txt (14 bytes)\nsrc/");
    expect(await runTool(files, "list_files", { path: "src" })).toBe("src/b.ts (13 bytes)");
  });

  test("a recursive listing stays out of node_modules, and takes a pattern of names", async () => {
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

  test("matches are told with path, line and text, and binary files are passed over", async () => {
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

  test("a search that finds too much stops and says so", async () => {
    await writeFile(join(folder, "many.txt"), "hit\n".repeat(5_000));
    const text = (await runTool(files, "search_files", { pattern: "hit" })) as string;
    expect(text.split("\n")).toHaveLength(301);
    expect(text).toMatch(/\(only the first 300 matches\)$/);
  });

  test("a pattern that would never come to an end is stopped, and what was found is kept", async () => {
    await writeFile(join(folder, "trap.txt"), `aab\n${"a".repeat(60)}!\n`);
    files = filesGroup({ folder, searchMs: 3_000 });
    const started = performance.now();
    const text = await runTool(files, "search_files", { pattern: "^(a+)+b?$|^aab" });
    expect(text).toBe("trap.txt:1: aab\n(stopped after 3 s: narrow it down)");
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("a search that is cancelled ends at once", async () => {
    await writeFile(join(folder, "trap.txt"), `${"a".repeat(60)}!\n`);
    const signal = AbortSignal.timeout(200);
    const started = performance.now();
    await expect(
      runTool(files, "search_files", { pattern: "^(a+)+$" }, toolContext({ signal })),
    ).rejects.toThrow(/timeout/i);
    // A search may take ten seconds.
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test("a pattern that is none is refused with the reason", async () => {
    await expect(runTool(files, "search_files", { pattern: "(" })).rejects.toThrow(
      /the pattern cannot be used: .*group/i,
    );
  });
});

describe("writing", () => {
  test("a new file makes its folders, a replaced one keeps its mode, and nothing else is left", async () => {
    expect(await write("x/y/z.txt", "héllo")).toBe("created x/y/z.txt (6 bytes)");
    expect(await readdir(join(folder, "x", "y"))).toEqual(["z.txt"]);
    await chmod(join(folder, "a.txt"), 0o750);
    expect(await write("a.txt", "")).toBe("replaced a.txt (0 bytes)");
    expect((await stat(join(folder, "a.txt"))).mode & 0o777).toBe(0o750);
  });

  test("folders are not written over", async () => {
    await expect(write("src")).rejects.toThrow("src is a folder");
    await expect(write(".")).rejects.toThrow(". is a folder");
    await expect(write("a.txt/x")).rejects.toThrow("a.txt");
    expect((await readdir(folder)).toSorted()).toEqual(["a.txt", "src"]);
  });

  test("an edit replaces the one place that has the text, with dollars as they are", async () => {
    expect(await edit("a.txt", "two", "$& $1 2")).toBe("edited a.txt in one place, from line 2 on");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\n$& $1 2\nthree\n");
  });

  test("an edit that is not unique, finds nothing or changes nothing is refused", async () => {
    await expect(edit("a.txt", "e", "E")).rejects.toThrow("is in the file 3 times");
    await expect(edit("a.txt", "four", "4")).rejects.toThrow("is not in the file");
    await expect(edit("a.txt", "one", "one")).rejects.toThrow("are the same");
    const all = { path: "a.txt", old_text: "e", new_text: "E", all: true };
    expect(await runTool(files, "edit_file", all)).toBe("edited a.txt in 3 places, from line 1 on");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("onE\ntwo\nthrEE\n");
  });

  test("an edit that is run again after a crash is made once", async () => {
    await edit("a.txt", "two", "two\n2.5");
    expect(await edit("a.txt", "two", "two\n2.5", 2)).toBe("edited a.txt, before the restart");
    await edit("a.txt", "three", "3");
    expect(await edit("a.txt", "three", "3", 2)).toBe("edited a.txt, before the restart");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\ntwo\n2.5\n3\n");
    expect(await edit("a.txt", "one", "1", 2)).toContain("edited a.txt in one place");
  });

  test("Windows line ends and a byte order mark stay", async () => {
    await writeFile(join(folder, "win.txt"), "\uFEFFa\r\nb\r\nc\r\n");
    await edit("win.txt", "a\nb", "a\nx\nb");
    expect(await readFile(join(folder, "win.txt"), "utf8")).toBe("\uFEFFa\r\nx\r\nb\r\nc\r\n");
  });

  test("a file that is not UTF-8 is not spoilt", async () => {
    const bytes = Buffer.from([0x61, 0xe9, 0x62]);
    await writeFile(join(folder, "latin.txt"), bytes);
    await expect(edit("latin.txt", "a", "x")).rejects.toThrow("is not UTF-8");
    expect(await readFile(join(folder, "latin.txt"))).toEqual(bytes);
  });
});
