import { ChangeDetectionStrategy, Component } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { entityTable, LiveTable, provideEvertable } from '@evertable/angular';

@Component({
  selector: 'app-root',
  imports: [LiveTable],
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: ':host { display: block; height: 100vh; }',
  template: `<live-table [table]="table" [sort]="['-balance']" filter="balance > 100" />`,
})
class App {
  readonly table = entityTable(['user', 'account']);
}

bootstrapApplication(App, {
  providers: [
    provideEvertable({ url: 'http://localhost:10000', token: () => sessionStorage.getItem('token') }),
  ],
});
