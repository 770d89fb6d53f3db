import type { Page } from "playwright-core";
import { barriersOn, takePicture, type PersonOptions } from "./stage.ts";

/** What the page is looked at in. */
export const looks = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true },
} as const satisfies Record<string, PersonOptions>;

/** Looks at one view after the other, and keeps what is wrong with each. */
export function watchFor(tab: Page, look: string) {
  const barriers: Record<string, string[]> = {};
  const check = async (view: string) => {
    const found = await barriersOn(tab);
    if (found.length > 0) barriers[view] = found;
    await takePicture(tab, `axe-${view}-${look}`);
  };
  return { barriers, check };
}
