import { defineConfig } from "vite";

/** Into the gateway's package: it serves what is there. */
export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ["@deltawire/source"] },
  plugins: [
    {
      name: "woff2-only",
      enforce: "pre",
      // Every browser that can run the page reads woff2; KaTeX lists each font three times.
      transform(code, id) {
        if (!/katex[^?]*\.css$/.test(id)) return undefined;
        return code.replaceAll(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\("[^"]*"\)/g, "");
      },
    },
  ],
  build: {
    outDir: "../gateway/page",
    emptyOutDir: true,
    // A small font would become a data: URL, which the page's policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
    // The first that know `light-dark()` and popovers.
    cssTarget: ["chrome123", "firefox125", "safari17.5"],
    reportCompressedSize: false,
  },
});
