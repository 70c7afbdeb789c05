import { Session, tokenIn } from './session';

describe('the token of a printed link', () => {
  it('is read from the fragment, decoded', () => {
    expect(tokenIn('#token=abc-_123')).toBe('abc-_123');
    expect(tokenIn('#token=a%2Fb%3D')).toBe('a/b=');
  });

  it('may contain characters that a link should encode', () => {
    expect(tokenIn('#token=100%')).toBe('100%');
    expect(tokenIn('#token=a=b&c')).toBe('a=b&c');
  });

  it('is null in other fragments', () => {
    for (const fragment of ['', '#', '#final_ui', '#token', '#token=', '#token=%20', '#my_token=x'])
      expect(tokenIn(fragment)).toBeNull();
  });
});

describe('a session', () => {
  const windowAt = (hash: string, stored: Record<string, string> = {}) => {
    const replaced: string[] = [];
    const storage = new Map(Object.entries(stored));
    const listeners: (() => void)[] = [];
    const window = {
      addEventListener: (_event: string, call: () => void) => listeners.push(call),
      location: { hash, pathname: '/', search: '?x=1', reload: vi.fn() },
      history: { replaceState: (_state: unknown, _title: string, url: string) => replaced.push(url) },
      sessionStorage: {
        getItem: (key: string) => storage.get(key) ?? null,
        setItem: (key: string, value: string) => storage.set(key, value),
        removeItem: (key: string) => storage.delete(key),
      },
    };
    const open = (link: string) => {
      window.location.hash = link;
      for (const call of listeners) call();
    };
    return { window: window as unknown as Window, replaced, storage, open, reload: window.location.reload };
  };

  it('removes the token from the address and stores it', () => {
    const { window, replaced, storage } = windowAt('#token=secret');
    expect(new Session(window).token()).toBe('secret');
    expect(replaced).toEqual(['/?x=1']);
    expect([...storage.values()]).toEqual(['secret']);
  });

  it('leaves the name of a table in the address, and uses the stored token', () => {
    const { window, replaced } = windowAt('#final_ui', { 'evertable.token': 'kept' });
    expect(new Session(window).token()).toBe('kept');
    expect(replaced).toEqual([]);
  });

  it('takes the token of a link that is opened in the open page', () => {
    const { window, replaced, open } = windowAt('#final_ui', { 'evertable.token': 'old' });
    const session = new Session(window);
    open('#users_ui');
    expect(session.token()).toBe('old');
    open('#token=new');
    expect(session.token()).toBe('new');
    expect(replaced).toEqual(['/?x=1']);
  });

  it('forgets the token and reloads', () => {
    const { window, storage, reload } = windowAt('', { 'evertable.token': 'kept' });
    const session = new Session(window);
    session.forget();
    expect(session.token()).toBeNull();
    expect(storage.size).toBe(0);
    expect(reload).toHaveBeenCalledOnce();
  });

  it('works without storage', () => {
    const { window } = windowAt('#token=secret');
    Object.defineProperty(window, 'sessionStorage', {
      get: () => {
        throw new DOMException('denied', 'SecurityError');
      },
    });
    expect(new Session(window).token()).toBe('secret');
  });
});
