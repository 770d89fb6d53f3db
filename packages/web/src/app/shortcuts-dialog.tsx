import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Keys } from "../parts/keys.tsx";
import { useWords } from "../words/use-words.ts";
import { appWords } from "./words.ts";

/** What can be done by a key right now, by group. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const words = useWords(appWords);
  const commands = useCell(usePage().commands.all).filter(({ keys }) => keys !== undefined);
  const groups = Map.groupBy(commands, ({ group }) => group);
  return (
    <Dialog
      wide
      title={words.shortcuts}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {words.done}
        </Button>
      }
    >
      <div
        className="app-shortcuts"
        role="group"
        aria-label={words.shortcuts}
        // What scrolls has to be reached by the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        data-first
      >
        <p className="app-shortcuts-hint">{words.shortcutsHint}</p>
        {[...groups].map(([group, those]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {[...Map.groupBy(those, ({ title }) => title)].map(([title, same]) => (
                <div key={title}>
                  <dt>{title}</dt>
                  {same.map(({ id, keys = "" }, at) => (
                    <dd key={id}>
                      {at > 0 && <span className="app-or">{words.or}</span>}
                      <Keys keys={keys} />
                    </dd>
                  ))}
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
