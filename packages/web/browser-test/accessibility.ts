import type { Page } from "playwright-core";
import { findAxeViolations, takeScreenshot, type BrowserUserOptions } from "./browser-fixture.ts";

/** Browser options in which each view is checked. */
export const viewVariants = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true },
} as const satisfies Record<string, BrowserUserOptions>;

/** Creates a check of views with axe, which collects the violations by view. */
export function createAxeChecker(tab: Page, variant: string) {
  const violations: Record<string, string[]> = {};
  const check = async (view: string) => {
    const found = await findAxeViolations(tab);
    if (found.length > 0) violations[view] = found;
    await takeScreenshot(tab, `axe-${view}-${variant}`);
  };
  return { violations, check };
}
