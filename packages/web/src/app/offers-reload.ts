import type { Page } from "../state/page.ts";
import { appWords } from "./words.ts";

/** A gateway that was updated no longer has the parts that an old page loads on demand. */
export function offersReload({ toasts, preferences }: Page): void {
  window.addEventListener("vite:preloadError", () => {
    const words = appWords[preferences.get().language];
    toasts.show({
      kind: "error",
      text: words.outdated,
      action: { label: words.reload, run: () => window.location.reload() },
    });
  });
}
