import { spawnSync } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import type { LaunchOptions } from "playwright-core";
import { getClientFolder, installClients } from "../../../test/install-clients.ts";

/**
 * How to start Chromium. On Linux x64 it comes from an npm package with its own fonts, so that screenshots are the same
 * everywhere. Elsewhere DELTAWIRE_CHROMIUM or the installed Chrome is used.
 */
export async function chromiumOptions(): Promise<LaunchOptions> {
  const given = process.env["DELTAWIRE_CHROMIUM"];
  if (given !== undefined) return { executablePath: given, args };
  if (process.platform !== "linux" || process.arch !== "x64") return { channel: "chrome", args };
  await installClients("browser", unpack);
  const folder = getClientFolder("browser");
  // The file is written last, because the folder is moved after it is unpacked.
  await writeFonts(folder);
  return {
    executablePath: join(folder, "chromium"),
    args,
    env: {
      ...(process.env as Record<string, string>),
      FONTCONFIG_FILE: join(folder, "fonts.conf"),
      LD_LIBRARY_PATH: join(folder, "lib"),
    },
  };
}

// CI runs as root, where Chromium's sandbox does not start. Without it only our own page may be opened.
const args = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"];

/** Unpacks the files of the package. Its launcher is not used, because it disables web security. */
async function unpack(folder: string): Promise<void> {
  const packed = join(folder, "node_modules", "@sparticuz", "chromium", "bin");
  const inflate = (name: string, file: string) =>
    pipeline(
      createReadStream(join(packed, name)),
      createBrotliDecompress(),
      createWriteStream(join(folder, file)),
    );
  for (const name of ["swiftshader.tar", "al2023.tar"]) {
    await inflate(`${name}.br`, name);
    const { status, stderr } = spawnSync("tar", ["xf", name], { cwd: folder, encoding: "utf8" });
    if (status !== 0) throw new Error(`${name} of Chromium cannot be unpacked: ${stderr}`);
  }
  await inflate("chromium.br", "chromium");
  await chmod(join(folder, "chromium"), 0o755);
}

async function writeFonts(folder: string): Promise<void> {
  const file = join(folder, "fonts.conf");
  const wanted = fontsConf(folder);
  if ((await readFile(file, "utf8").catch(() => "")) === wanted) return;
  await mkdir(join(folder, "font-cache"), { recursive: true });
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, wanted);
  await rename(fresh, file);
}

function fontsConf(folder: string): string {
  const modules = join(folder, "node_modules");
  const prefer = (family: string, ...fonts: string[]) =>
    `<alias binding="strong"><family>${family}</family><prefer>${fonts
      .map((font) => `<family>${font}</family>`)
      .join("")}</prefer></alias>`;
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>${modules}/dejavu-fonts-ttf/ttf</dir>
<dir>${modules}/@expo-google-fonts/noto-sans-sc/400Regular</dir>
<dir>${modules}/@expo-google-fonts/noto-sans-sc/700Bold</dir>
<selectfont><rejectfont><glob>*Serif*</glob><glob>*Condensed*</glob><glob>*ExtraLight*</glob><glob>*Math*</glob></rejectfont></selectfont>
<cachedir>${join(folder, "font-cache")}</cachedir>
${prefer("sans-serif", "DejaVu Sans", "Noto Sans SC")}
${prefer("system-ui", "DejaVu Sans", "Noto Sans SC")}
${prefer("serif", "DejaVu Sans", "Noto Sans SC")}
${prefer("monospace", "DejaVu Sans Mono", "Noto Sans SC")}
</fontconfig>
`;
}
