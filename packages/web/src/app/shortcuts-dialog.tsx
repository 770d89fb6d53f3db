import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ShortcutKeys } from "../ui/keyboard-shortcut.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { appMessages } from "./messages.ts";

/** Lists the shortcuts that are currently available, by group. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const t = useMessages(appMessages);
  const commands = useCell(useAppStore().commands.all).filter(({ keys }) => keys !== undefined);
  const groups = Map.groupBy(commands, ({ group }) => group);
  return (
    <Dialog
      wide
      title={t.shortcuts}
      onClose={onClose}
      footer={
        <Button kind="primary" data-autofocus onClick={onClose}>
          {t.done}
        </Button>
      }
    >
      <div
        className="app-shortcuts"
        role="group"
        aria-label={t.shortcuts}
        // A scrollable element must be focusable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <p className="app-shortcuts-hint">{t.shortcutsHint}</p>
        {[...groups].map(([group, groupCommands]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {[...Map.groupBy(groupCommands, ({ title }) => title)].map(
                ([title, alternatives]) => (
                  <div key={title}>
                    <dt>{title}</dt>
                    {alternatives.map(({ id, keys = "" }, index) => (
                      <dd key={id}>
                        {index > 0 && <span className="app-or">{t.or}</span>}
                        <ShortcutKeys keys={keys} />
                      </dd>
                    ))}
                  </div>
                ),
              )}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
