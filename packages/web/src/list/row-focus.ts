/*
 * Rows of chats, found ones and deleted ones are links with `data-row`. Only those near to what is seen are there, so the
 * next one is always found, and the first and the last once they were scrolled to.
 */

export function focusFirstRow(from: Element): void {
  const [first] = rowsAround(from);
  first?.focus();
}

/** Whether a key moves the focus among the rows. */
export function moveFocus(from: HTMLElement, key: string): boolean {
  const rows = rowsAround(from);
  const at = rows.indexOf(from);
  switch (key) {
    case "ArrowDown":
      rows[at + 1]?.focus();
      return true;
    case "ArrowUp":
      rows[at - 1]?.focus();
      return true;
    case "Home":
    case "End":
      focusEnd(from, key === "Home");
      return true;
    default:
      return false;
  }
}

/** From a row or something in it to the row below, else the one above, else what rows are searched by: before this one goes. */
export function focusBeside(from: Element): void {
  const rows = rowsAround(from);
  const at = rows.findIndex((row) => row.parentElement?.contains(from) === true);
  const search = from.closest(".list")?.querySelector("input");
  (rows[at + 1] ?? rows[at - 1] ?? search)?.focus();
}

function focusEnd(from: HTMLElement, atStart: boolean): void {
  const scroll = from.closest(".list-scroll");
  if (scroll === null) return;
  scroll.scrollTop = atStart ? 0 : scroll.scrollHeight;
  // What comes into sight is drawn in the frame after next.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const rows = [...scroll.querySelectorAll<HTMLElement>("[data-row]")];
      rows.at(atStart ? 0 : -1)?.focus();
    }),
  );
}

function rowsAround(from: Element): HTMLElement[] {
  const list = from.closest(".list");
  return list === null ? [] : [...list.querySelectorAll<HTMLElement>("[data-row]")];
}
